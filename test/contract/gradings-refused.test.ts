/** Spec § Gradings: a grading that cannot run is refused before any part of it is stored. */
import { describe, expect, test } from 'vitest';
import { type Answer, useRig } from '../rig/rig.ts';

const rig = useRig({ provider: 'subprocess' });

const SUM = { language: 'python', code: 'print(sum(map(int, input().split())))' };
const WRONG = { language: 'bash', code: 'echo 0' };
const V2 = { verdict: 'urn:svc:verdict:v2' };
const ONE = { programs: [SUM], tests: [{ name: 'small', stdin: '1 2', expected: '3' }] };

const refusalOf = ({ status, json }: Answer): [number, string] => [status, json.error?.code as string];
const submit = (body: object): Promise<Answer> => rig().request('/v1/gradings', { method: 'POST', body });

describe('a grading that cannot run is refused, and nothing is stored:', {
  tags: ['Gradings-2b', 'Gradings-2c'],
}, () => {
  const tests = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `${at}` }));
  const programs = (count: number) => Array.from({ length: count }, () => WRONG);
  const words = Array.from({ length: 5 }, () => 'x'.repeat(4000));
  const variables = (name: string) => Object.fromEntries(words.map((word, at) => [`${name}${at}`, word]));
  test.each<[string, object, number, string]>([
    ['no test', { programs: [SUM], tests: [] }, 400, 'invalid_request'],
    ['1,001 tests', { programs: [SUM], tests: tests(1001) }, 400, 'invalid_request'],
    ['1,001 programs', { programs: programs(1001), tests: tests(1) }, 400, 'invalid_request'],
    ['50,008 runs', { programs: programs(56), tests: tests(893) }, 413, 'payload_too_large'],
    ['two tests of one name', { programs: [SUM], tests: [{ name: 'a' }, { name: 'a' }] }, 400, 'invalid_request'],
    [
      'an unknown language',
      { programs: [{ language: 'cobol', code: '1' }], tests: tests(1) },
      400,
      'unsupported_language',
    ],
    [
      'libraries',
      { programs: [{ ...SUM, libraries: { blob: `sha256:${'0'.repeat(64)}` } }], tests: tests(1) },
      400,
      'invalid_request',
    ],
    ['an unknown pack', { programs: [{ ...SUM, runtime: 'nowhere' }], tests: tests(1) }, 422, 'runtime_unavailable'],
    ['the network', { ...ONE, limits: { allow_network: true } }, 400, 'network_not_allowed'],
    [
      'an isolation class that the service lacks',
      { ...ONE, requirements: { minimum_isolation: 'hardware-vm' } },
      422,
      'minimum_isolation_unsatisfied',
    ],
    [
      'an unknown upload',
      { programs: [SUM], tests: [{ name: 'a', stdin: { blob: `sha256:${'0'.repeat(64)}` } }] },
      422,
      'blob_unavailable',
    ],
    [
      'an input that is too large for any job',
      { programs: [SUM], tests: [{ name: 'a', stdin: 'x'.repeat(2 ** 20 + 1) }] },
      413,
      'payload_too_large',
    ],
    [
      'an expected output that is larger than what is recorded',
      { programs: [SUM], tests: [{ name: 'a', expected: 'x'.repeat(2 ** 20 + 1) }] },
      413,
      'payload_too_large',
    ],
    [
      'points whose sum is not a number',
      { programs: [SUM], tests: [{ name: 'a', points: 1e308 }] },
      400,
      'invalid_request',
    ],
    [
      'a file at the path of a file that the checker reads',
      { ...ONE, checker: { ...WRONG, files: [{ path: 'input/expected', content_base64: '' }] } },
      400,
      'invalid_request',
    ],
    [
      'a file at the path of a file that the interactor reads',
      { ...ONE, ...V2, interactor: { ...WRONG, files: [{ path: 'input/stdin/a', content_base64: '' }] } },
      400,
      'invalid_request',
    ],
    [
      'variables of a program and a test that are too many for a job',
      { ...V2, programs: [{ ...SUM, env: variables('P') }], tests: [{ name: 'a', env: variables('T') }] },
      413,
      'payload_too_large',
    ],
    [
      'words for a checker that are too many for a job',
      { ...V2, programs: [SUM], tests: [{ name: 'a', checker_args: words }], checker: { ...WRONG, args: words } },
      413,
      'payload_too_large',
    ],
    [
      'a validator that no node runs',
      { ...ONE, ...V2, validators: [{ ...WRONG, runtime: 'nowhere' }] },
      422,
      'runtime_unavailable',
    ],
    [
      'a validator whose upload is unknown',
      { ...ONE, ...V2, validators: [{ ...WRONG, code: { blob: `sha256:${'0'.repeat(64)}` } }] },
      422,
      'blob_unavailable',
    ],
    ['an argument with a NUL', { programs: [SUM], tests: [{ name: 'a', args: ['\0'] }] }, 400, 'invalid_request'],
  ])('%s', async (_name, body, status, code) => {
    const before = (await rig().alpha.client.gradings({ limit: 1 })).items;
    const answer = await submit(body);
    expect(refusalOf(answer)).toEqual([status, code]);
    expect((await rig().alpha.client.gradings({ limit: 1 })).items).toEqual(before);
  });

  test('an upload that is larger than its limit', async () => {
    const { blob } = await rig().alpha.client.upload('x'.repeat(2 ** 20 + 1));
    const answer = await submit({ programs: [SUM], tests: [{ name: 'a', stdin: { blob } }] });
    expect(refusalOf(answer)).toEqual([413, 'payload_too_large']);
    expect(answer.json.error.message).toMatch(/^\/tests\/0\/stdin is 1048577 bytes/);
  });

  test.each<[string, object]>([
    ['/programs/1', { ...ONE, programs: [SUM, { ...SUM, runtime: 'nowhere' }, { ...SUM, runtime: 'nowhere' }] }],
    ['/checker', { ...ONE, checker: { ...WRONG, runtime: 'nowhere' } }],
    ['/validators/0', { ...ONE, ...V2, validators: [{ ...WRONG, runtime: 'nowhere' }] }],
  ])('a program that no node can run; the refusal names its place in the request: %s', async (pointer, body) => {
    const { message } = (await submit(body)).json.error;
    expect(message.startsWith(`${pointer}/runtime "nowhere" is not a runtime pack`)).toBe(true);
  });

  test('an argument that is too long is named by its place in the request', async () => {
    const { json } = await submit({ programs: [SUM], tests: [{ name: 'a' }, { name: 'b', args: ['x'.repeat(5000)] }] });
    expect(json.error.message).toMatch(/^\/tests\/1\/args\/0 is 5000 bytes/);
  });
});
