/**
 * Gradings whose tests are larger than a submission may be. They name input, output and expected output by digest. In
 * the long form, the tests have 60 MB.
 */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { filesOfGrading, problemsOf } from '../rig/drive-grading.ts';
import { isLongForm, slowTest } from '../rig/form.ts';
import { useRig } from '../rig/rig.ts';

const BYTES = isLongForm ? 60_000_000 : 2 ** 21;
const rig = useRig({ 'attestation-mode': 'on' });
const narrow = useRig({ provider: 'subprocess', 'tenant-blobs-mb-max': '1' });
const python = (code: string) => ({ language: 'python', code });
const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** The input has far more lines than the history records. */
const input = new Uint8Array(Buffer.alloc(BYTES, '1234567\n'));
const doubled = new Uint8Array(Buffer.alloc(BYTES, '2469134\n'));
const other = new Uint8Array(doubled).fill(0x30, BYTES - 3, BYTES - 2);
const uploads: Record<'input' | 'doubled' | 'other', { readonly blob: string }> = {} as never;

const DOUBLE = `import sys
data = sys.stdin.buffer.read()
sys.stdout.buffer.write(data.replace(b"1234567", b"2469134"))`;
/** A checker with the arguments that testlib gives: input, output and expected output. */
const CHECKER = `import sys
given, output, expected = (open(path, "rb").read() for path in sys.argv[1:4])
sys.exit(0 if len(given) == len(output) and output == expected else 1)`;
const KATTIS = `import sys
sys.exit(42 if sys.stdin.buffer.read() == open(sys.argv[2], "rb").read() else 43)`;

beforeAll(async () => {
  for (const [name, bytes] of Object.entries({ input, doubled, other }))
    uploads[name as keyof typeof uploads] = { blob: (await rig().alpha.client.upload(bytes)).blob };
});

const large = { mem_mb: 1024, cpu_seconds: 30, wall_seconds: 120 };
const nonEmpty = { ...python('import sys; sys.exit(42 if len(sys.stdin.buffer.read()) else 43)'), codes: 'kattis' };
interface How {
  readonly compare?: string;
  readonly more?: object;
}

slowTest.each<[string, How]>([
  ['compared', {}],
  ['compared by words', { compare: 'words' }],
  ['given to a checker of testlib', { more: { checker: { ...python(CHECKER), limits: large } } }],
  [
    'given to a checker of Kattis, after a validator',
    {
      more: {
        checker: { ...python(KATTIS), codes: 'kattis', limits: large },
        validators: [{ ...nonEmpty, limits: large }],
      },
    },
  ],
])('texts of any size are %s, and the verdict verifies', { tags: ['Gradings-2f'] }, async (_words, how) => {
  const { client } = rig().alpha;
  // Once a grading names a blob as expected output, the blob is no longer an upload. So each case uploads the blobs again.
  for (const bytes of [doubled, other]) await client.upload(bytes);
  const compare = how.compare === undefined ? {} : { compare: how.compare };
  const tests = [
    { name: 'right', stdin: uploads.input, expected: uploads.doubled, ...compare },
    { name: 'wrong', stdin: uploads.input, expected: uploads.other, ...compare },
  ];
  const limits = { cpu_seconds: 10, mem_mb: 512 };
  const body = { programs: [python(DOUBLE)], tests, verdict: 'urn:svc:verdict:v2', limits, ...how.more };
  const { grading_id } = await client.submitGrading(body as never);
  const files = await filesOfGrading(client, grading_id);
  const verdict = JSON.parse(Buffer.from(files.verdict).toString());
  expect(verdict.tests).toMatchObject([{ verdict: 'accepted' }, { verdict: 'wrong_answer' }]);
  const digests = { stdin: digestOf(input), stdout: digestOf(doubled), expected: digestOf(doubled) };
  expect(verdict.tests[0]).toMatchObject({
    stdin_sha256: digests.stdin,
    stdout_sha256: digests.stdout,
    expected_sha256: digests.expected,
  });
  expect(await problemsOf(client, files)).toEqual([]);
});

describe('a grading whose tenant has reached its limit of blobs', () => {
  const part = (from: number) => new Uint8Array(Buffer.alloc(700_000, `part ${from} `));
  const body = (stdin: object, expected: object) =>
    ({
      programs: [python('print(1)')],
      tests: [{ name: 'a', stdin, expected }],
      verdict: 'urn:svc:verdict:v2',
    }) as never;

  test('reports that there was too little room for the output of a test', { tags: ['Gradings-2f'] }, async () => {
    const { client } = narrow().alpha;
    const { blob } = await client.upload(part(1));
    const { grading_id } = await client.submitGrading(body({ blob }, { blob }));
    const { status, graded } = await client.waitForGrading(grading_id);
    expect([status, graded[0]?.problem]).toEqual(['failed', expect.stringContaining('too little room')]);
  });

  test('is refused if its expected output does not fit beside the expected output of earlier gradings', {
    tags: ['Gradings-14'],
  }, async () => {
    const { client, key } = narrow().beta;
    const submit = async (from: number) => {
      const { blob } = await client.upload(part(from));
      const programs = [{ language: 'bash', code: 'true' }];
      const body = { programs, tests: [{ name: 'a', expected: { blob } }] };
      const { status, json } = await narrow().request('/v1/gradings', { method: 'POST', key, body });
      return [status, json.error?.code];
    };
    expect(await submit(2)).toEqual([201, undefined]);
    expect(await submit(3)).toEqual([429, 'tenant_capacity_exhausted']);
  });
});
