/** Commands call a service that may answer anything. They print no character that a terminal interprets. */

import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parsePublicKey, sha256Hex } from '@vouchbox/evidence';
import { groupsOf, scoreOf } from '@vouchbox/protocol/grading-steps';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { json, refusal, type ScriptedService, scriptedService } from '../../packages/client/test/scripted-service.ts';
import { whole } from '../../packages/client/test/whole-answer.ts';
import { type Ended, vouchbox } from '../rig/command.ts';

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-hostile-service-'));
});
afterAll(() => rmSync(scratch, { recursive: true }));

/** A text with two spellings of "clear the screen", and with characters that reverse text and end lines. */
const EVIL = 'x\u001b[2J\u009b2J\u202e\u2028\u007f\u0007';
const SPELLED = 'x\\u{1b}[2J\\u{9b}2J\\u{202e}\\u{2028}\\u{7f}\\u{7}';

const call = ({ baseUrl }: ScriptedService, ...words: string[]): Promise<Ended> =>
  vouchbox([...words, '--url', baseUrl, '--key', 'k'], { cwd: scratch });

/** True if there are only printable ASCII, line feeds and the few other characters in our messages. */
const isHarmless = ({ stdout, stderr }: Ended) => !/[^\n -~…]/u.test(stdout + stderr);

/** A service whose only job, according to the result and the receipt, has a file with this name. */
function exporting(
  path: string,
  receipt: object | null = { output_artifacts: [{ path }] },
  replay: (response: ServerResponse, after: number) => void = json({ events: [], next_cursor: null }),
): Promise<ScriptedService> {
  const { publicKey } = generateKeyPairSync('ed25519');
  const public_key_pem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
  const parsed = parsePublicKey(public_key_pem);
  const key_id = parsed.kind === 'key' ? parsed.key.key_id : '';
  const exact = json({}, 200, { 'x-content-sha256': sha256Hex('{}') });
  const answers: Readonly<Record<string, ReturnType<typeof json>>> = {
    attestation: exact,
    'result-artifact': exact,
    result: json(
      whole('GET /v1/jobs/{id}/result', { status: 'succeeded', artifacts: [{ path, content_base64: 'eA==' }] }),
    ),
    'public-key': json(whole('GET /v1/attestation/public-key', { public_key_pem })),
    job_1: json(
      whole('GET /v1/jobs/{id}', {
        tenant: 'a; b',
        requested_spec: { code: '' },
        attestation: { key_id },
        receipt,
      }),
    ),
  };
  return scriptedService([
    (response, { url }) => {
      const { pathname, searchParams } = new URL(url, 'http://service');
      const name = pathname.split('/').at(-1) ?? '';
      if (name === 'replay') replay(response, Number(searchParams.get('after')));
      else answers[name]?.(response);
    },
  ]);
}

describe('an export from a hostile service', () => {
  test.each(['../x', '/etc/x', 'output/../../x', 'receipt.json', 'code', 'manifest.json', 'input/a', `output/${EVIL}`])(
    'is refused in one line and leaves nothing, for a file named %j',
    { tags: ['OPER-08'] },
    async (path) => {
      const before = readdirSync(scratch);
      await using service = await exporting(path);
      const refused = await call(service, 'export', 'job_1', '--output', 'exported');
      expect([refused.code, refused.stdout]).toEqual([5, '']);
      expect(refused.stderr).toMatch(/^vouchbox: the service names an output file [^\n]+, which [^\n]+\n$/);
      expect(isHarmless(refused)).toBe(true);
      expect(readdirSync(scratch)).toEqual(before);
    },
  );

  test('is refused once an endless history exceeds 64 MiB', { tags: ['OPER-08'] }, async () => {
    const data = 'x'.repeat(9 << 20);
    await using service = await exporting('output/a', undefined, (response, after) => {
      json({ events: [{ job_id: 'job_1', seq: after + 1, kind: 'unheard-of', data }], next_cursor: after + 1 })(
        response,
      );
    });
    const { code, stderr } = await call(service, 'export', 'job_1');
    expect([code, stderr]).toEqual([5, expect.stringMatching(/^vouchbox: the history of job_1 is larger than 64 MiB/)]);
    expect(service.seen.filter(({ url }) => url.includes('/replay')).length).toBeLessThan(10);
  });

  test('is refused in one line if the job has no receipt', async () => {
    await using service = await exporting('output/a', null);
    expect((await call(service, 'export', 'job_1')).stderr).toBe('vouchbox: the job has no receipt\n');
  });

  test('does not touch an existing directory that has its temporary directory’s name', {
    tags: ['OPER-07'],
  }, async () => {
    mkdirSync(join(scratch, 'kept.partial', 'precious'), { recursive: true });
    await using service = await exporting('output/a');
    const { code, stderr } = await call(service, 'export', 'job_1', '--output', 'kept');
    expect([code, stderr]).toEqual([0, expect.stringMatching(/ --tenant 'a; b'\n$/)]);
    expect(readFileSync(join(scratch, 'kept/output/a'), 'utf8')).toBe('x');
    expect(readdirSync(join(scratch, 'kept.partial'))).toEqual(['precious']);
    expect(readdirSync(scratch).filter((name) => name.startsWith('kept.partial-'))).toEqual([]);
  });
});

describe('text from a hostile service is escaped', () => {
  const list = whole('GET /v1/jobs', {
    items: [{ job_id: 'job_1', status: EVIL, language: EVIL, created_at: EVIL, duration_ms: 1, exit_code: 0 }],
    next_cursor: null,
  });

  test('in the list of jobs', { tags: ['OPER-06'] }, async () => {
    await using service = await scriptedService([json(list)]);
    const listed = await call(service, 'jobs', 'list');
    expect(listed.stdout).toContain(`${SPELLED}  ${SPELLED}`);
    const asJson = await call(service, 'jobs', 'list', '--json');
    expect(JSON.parse(asJson.stdout)).toEqual(list.items);
    expect([listed, asJson].map(isHarmless)).toEqual([true, true]);
  });

  test('in a job’s detail, while the detail’s JSON keeps its values', async () => {
    const detail = whole('GET /v1/jobs/{id}', { job_id: 'job_1', requested_spec: { code: EVIL } });
    await using service = await scriptedService([json(detail)]);
    const shown = await call(service, 'jobs', 'show', 'job_1');
    expect(JSON.parse(shown.stdout)).toEqual(detail);
    expect(isHarmless(shown)).toBe(true);
  });

  test('in the answer to a cancellation', async () => {
    await using service = await scriptedService([
      json(whole('DELETE /v1/jobs/{id}', { job_id: 'job_1', status: EVIL })),
    ]);
    const cancelled = await call(service, 'jobs', 'cancel', 'job_1');
    expect(cancelled.stdout).toBe(`job_1 is ${SPELLED}\n`);
  });

  test('in a refusal, which stays on one line', { tags: ['OPER-06'] }, async () => {
    const error = { code: EVIL, message: `${EVIL}\nvouchbox: all is well`, request_id: EVIL, retryable: false };
    await using service = await scriptedService([json({ error }, 400)]);
    for (const words of [
      ['jobs', 'list'],
      ['jobs', 'show', 'job_1'],
      ['export', 'job_1'],
    ]) {
      const refused = await call(service, ...words);
      expect(refused.stderr).toMatch(/^vouchbox: x\\u\{1b\}[^\n]*\n$/);
      expect(isHarmless(refused)).toBe(true);
    }
  });

  test('in the events of a running job', { tags: ['OPER-06'] }, async () => {
    const events = [
      { job_id: 'job_1', seq: 1, kind: 'violation', data: { type: EVIL, message: EVIL, path: EVIL } },
      { job_id: 'job_1', seq: 2, kind: 'truncated', data: { stream: EVIL, bytes_seen: 1, bytes_stored: 1 } },
      { job_id: 'job_1', seq: 3, kind: 'finished', data: { status: 'failed', terminal_reason: EVIL, signal: EVIL } },
    ];
    await using service = await scriptedService([
      (response, { method, url }) => {
        if (method === 'POST' && url === '/v1/jobs') return json({ job_id: 'job_1', status: 'queued' }, 201)(response);
        if (method === 'POST') return refusal(404, 'route_not_found', {}, false)(response);
        return json({ events, next_cursor: null })(response);
      },
    ]);
    const ran = await call(service, 'run', '-', '--language', 'bash');
    expect(ran.stderr).toContain(SPELLED);
    expect(isHarmless(ran)).toBe(true);
  });
});

describe('a grading by a hostile service', () => {
  const EVIL_JOB = '../../ESCAPED';
  const sha256 = (text: string) => sha256Hex(new TextEncoder().encode(text));
  const HEX = sha256('');

  /** A service with a grading of one test. In the events, the test has the job `ran`; in the verdict, it has the job `told`. */
  function grading(ran: string, told: string): Promise<ScriptedService> {
    const won = { verdict: 'accepted', points: 1, points_max: 1 };
    const digests = { stdin_sha256: sha256('1'), stdout_sha256: sha256('1\n'), expected_sha256: sha256('1\n') };
    const job = { job_id: told, receipt_sha256: HEX, terminal_reason: 'exited', exit_code: 0 };
    const run = { ...job, compiler: null, cpu_ms: 1, wall_ms: 1, memory_peak_bytes: 1, account: 'cell' };
    const line = { name: EVIL, group: 'all', compare: 'lines', ...won, ...digests };
    const groups = groupsOf({ tests: [{ name: EVIL }] });
    const verdict = JSON.stringify({
      schema: 'urn:svc:verdict:v2',
      program: { language: 'python', code_sha256: sha256('print(input())'), build: null },
      accepted: true,
      points: 1,
      points_max: 1,
      groups: scoreOf(groups, [{ group: 'all', points: 1, won: { verdict: 'accepted', points: 1 } }]).groups,
      tests: [{ ...line, run, starved: null, check: null, validations: [] }],
    });
    const said = { job_id: 'judge_1', receipt_sha256: HEX, verdict_sha256: sha256(verdict) };
    const jobs = [
      { name: 'test 1', test: EVIL, job_id: ran },
      { name: 'judge', test: null, job_id: 'judge_1' },
    ];
    const graded = [{ language: 'python', status: 'graded', verdict: { accepted: true, ...said } }];
    const ended = { status: 'ended', finished_at: 'now', graded };
    return scriptedService([
      (response, { method, url }) => {
        const [path = ''] = url.split('?');
        if (path === '/v1/capabilities') return json({ features: ['gradings'] })(response);
        if (method === 'POST') return json(whole('POST /v1/gradings', { grading_id: 'g' }), 201)(response);
        if (path.endsWith('/events')) {
          const items = jobs.map((data) => ({ kind: 'job', data: { program: 0, ...data } }));
          return json(whole('GET /v1/gradings/{grading}/events', { items }))(response);
        }
        if (path.startsWith('/v1/gradings/')) return json(whole('GET /v1/gradings/{grading}', ended))(response);
        return json(jobAnswer(path, verdict))(response);
      },
    ]);
  }

  /** A job's result or detail. The job `judge_1` has the verdict as its output. */
  function jobAnswer(path: string, verdict: string): object {
    const [, id = ''] = /^\/v1\/jobs\/([^/]+)/.exec(path) ?? [];
    const job = { job_id: decodeURIComponent(id), status: 'succeeded', terminal_reason: 'exited', exit_code: 0 };
    if (!path.endsWith('/result')) {
      return whole('GET /v1/jobs/{id}', { ...job, receipt: { receipt_sha256: HEX, code_sha256: HEX } });
    }
    const content = {
      content_base64: Buffer.from(verdict).toString('base64'),
      size_bytes: Buffer.byteLength(verdict),
      sha256: sha256(verdict),
    };
    const artifacts = id === 'judge_1' ? [{ path: 'output/verdict.json', ...content }] : [];
    return whole('GET /v1/jobs/{id}/result', { ...job, stdout: '1\n', artifacts });
  }

  function tests(): string {
    const directory = mkdtempSync(join(scratch, 'deep-'));
    mkdirSync(join(directory, 'a', 'tests'), { recursive: true });
    writeFileSync(join(directory, 'a', 'tests', `${EVIL}.in`), '1');
    writeFileSync(join(directory, 'a', 'tests', `${EVIL}.out`), '1\n');
    writeFileSync(join(directory, 'a', 'sum.py'), 'print(input())');
    return directory;
  }

  const namesIn = (directory: string) =>
    readdirSync(directory, { recursive: true })
      .map(String)
      .toSorted((one, other) => (one < other ? -1 : 1));

  const graded = ({ baseUrl }: ScriptedService, directory: string, ...words: string[]) =>
    vouchbox(['grade', 'sum.py', '--tests', 'tests', '--url', baseUrl, '--key', 'k', ...words], {
      cwd: join(directory, 'a'),
    });

  test.each([
    ['the job of a test', EVIL_JOB, EVIL_JOB],
    ['another job in its verdict', 'job_1', EVIL_JOB],
  ])('if a verdict names %s by a path, the command exits with 125 and writes no file', async (_what, ran, told) => {
    const directory = tests();
    const before = namesIn(directory);
    await using service = await grading(ran, told);
    const ended = await graded(service, directory, '--output', 'verdict');
    expect([ended.code, ended.stdout, isHarmless(ended)]).toEqual([125, '', true]);
    expect(namesIn(directory)).toEqual(before);
  });

  test('is printed without characters that a terminal interprets, and --json prints the same JSON', {
    tags: ['OPER-06'],
  }, async () => {
    await using service = await grading('job_1', 'job_1');
    const [asText, asJson] = [await graded(service, tests()), await graded(service, tests(), '--json')];
    expect([asText.code, isHarmless(asText), asJson.code, isHarmless(asJson)]).toEqual([0, true, 0, true]);
    expect(JSON.parse(asJson.stdout)).toMatchObject({ tests: [{ name: EVIL }] });
  });
});
