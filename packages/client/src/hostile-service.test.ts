/** A service that may answer anything, over real HTTP. The client checks each answer's form before it uses any part of it. */
import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { cutShort, json, type ScriptedService, scriptedService } from '../test/scripted-service.ts';
import { whole } from '../test/whole-answer.ts';
import { createServiceClient, type ServiceClient } from './service-client.ts';

const DETAIL = 'GET /v1/jobs/{id}';
const RESULT = 'GET /v1/jobs/{id}/result';
const TICKET = 'POST /v1/jobs/{id}/stream-ticket';

function clientOf({ baseUrl }: Pick<ScriptedService, 'baseUrl'>): ServiceClient {
  const retry = { attemptsMax: 1 };
  return createServiceClient({ baseUrl, apiKey: 'key-1', sleep: async () => {}, timeoutMilliseconds: 5000, retry });
}

const undecodable = { name: 'TransportFailure', reason: 'undecodable' };
const answering = (value: unknown) => scriptedService([json(value)]);

describe('the client refuses an answer', () => {
  const result = whole(RESULT, { job_id: 'job_1', status: 'succeeded' });
  const detail = whole(DETAIL, { job_id: 'job_1', status: 'queued' });

  const LINK = whole('POST /v1/jobs/{id}/links', { job_id: 'job_1' });

  test.each<readonly [string, unknown, (client: ServiceClient) => Promise<unknown>]>([
    ['without a member', { ...result, stdout: undefined }, (client) => client.result('job_1')],
    ['with a member of another type', { ...result, stdout: { length: 1 } }, (client) => client.result('job_1')],
    ['with null where the contract has no null', { ...result, artifacts: null }, (client) => client.result('job_1')],
    ['with a number that a double cannot hold', { ...result, exit_code: 2 ** 60 }, (client) => client.result('job_1')],
    ['with a fraction for an integer', { ...result, exit_code: 0.5 }, (client) => client.result('job_1')],
    ['about another job', { ...result, job_id: 'job_2' }, (client) => client.result('job_1')],
    ['that is a list', [result], (client) => client.result('job_1')],
    ['whose receipt is text', { ...detail, receipt: 'r' }, (client) => client.detail('job_1')],
    ['whose limits are text', { ...detail, effective_spec: { limits: 'x' } }, (client) => client.detail('job_1')],
    ['that lists jobs without ids', { items: [{}], next_cursor: null }, (client) => client.list()],
    ['whose cursor is an object', { items: [], next_cursor: {} }, (client) => client.list()],
    ['whose features are numbers', { features: [1] }, (client) => client.run('x')],
    ['whose event is text', { events: ['x'], next_cursor: null }, (client) => client.replay('job_1')],
    [
      'whose event has data that does not fit its kind',
      { events: [{ job_id: 'job_1', seq: 1, kind: 'violation', data: { message: [] } }], next_cursor: null },
      (client) => client.replay('job_1'),
    ],
    ...[
      '@elsewhere.example/links/a#b',
      '//elsewhere.example/links/a#b',
      '/links/a#\u001b[2J',
      '/links/a',
      '/links/a?b#c',
    ].map(
      (link_url) =>
        [
          `whose link is ${JSON.stringify(link_url)}`,
          { ...LINK, link_url },
          (client: ServiceClient) => client.createLink('job_1'),
        ] as const,
    ),
    [
      'whose link has another id than its address',
      { ...LINK, link_id: '`x`', link_url: '/links/a#b' },
      (client) => client.createLink('job_1'),
    ],
    ['that a link was not revoked', { link_id: 'a', revoked: false }, (client) => client.revokeLink('job_1', 'a')],
    ['that another link was revoked', { link_id: 'b', revoked: true }, (client) => client.revokeLink('job_1', 'a')],
    ['that names no key', { public_key_pem: 1 }, (client) => client.publicKey()],
  ])('%s', async (_what, value, ask) => {
    await using service = await answering(value);
    await expect(ask(clientOf(service))).rejects.toMatchObject(undecodable);
  });

  test.each(['../../ESCAPED', '..', '', 'a/b', 'a\u001b[2J', 'x'.repeat(129), 'a\\b', 'a.b', null, 7])(
    'an answer with the job id %j is refused',
    async (job_id) => {
      await using service = await answering({ job_id, status: 'queued' });
      await expect(clientOf(service).submit('x')).rejects.toMatchObject(undecodable);
    },
  );

  test('a truncated answer, or one that is not JSON, is refused', async () => {
    await using cut = await scriptedService([cutShort('{}')]);
    await expect(clientOf(cut).detail('job_1')).rejects.toMatchObject({
      reason: expect.stringMatching(/truncated|network/),
    });
    await using text = await scriptedService([(response) => response.end('{"job_id":')]);
    await expect(clientOf(text).detail('job_1')).rejects.toMatchObject(undecodable);
    await using deep = await scriptedService([(response) => response.end('['.repeat(200_000))]);
    await expect(clientOf(deep).detail('job_1')).rejects.toMatchObject(undecodable);
  });

  test('an endless answer is refused once it exceeds the maximum size of an answer', async () => {
    const endless = (response: ServerResponse) => {
      const piece = Buffer.alloc(1024 * 1024, 0x20);
      const more = () => {
        while (!response.destroyed && response.write(piece));
      };
      response.on('drain', more).on('error', () => {});
      more();
    };
    await using service = await scriptedService([endless]);
    await expect(clientOf(service).detail('job_1')).rejects.toMatchObject(undecodable);
  });

  test('a history is refused if it has no end or its cursor does not advance', async () => {
    let seq = 0;
    const page = (from: number) => ({
      events: Array.from({ length: 1000 }, (_, at) => ({
        job_id: 'job_1',
        seq: from + at,
        kind: 'stdout',
        data: { text: '' },
      })),
      next_cursor: from + 999,
    });
    await using endless = await scriptedService([
      (response) => {
        json(page(seq + 1))(response);
        seq += 1000;
      },
    ]);
    await expect(Array.fromAsync(clientOf(endless).events('job_1'))).rejects.toThrow('has no end');
    await using still = await answering({ ...page(1), next_cursor: 0 });
    await expect(Array.fromAsync(clientOf(still).events('job_1'))).rejects.toThrow('has no end');
  });
});

describe('the key and the ticket are sent only to the service that they are for', () => {
  test.each([301, 302, 303, 307, 308])(
    'a redirect with the status %d is not followed, so that its target gets no key',
    async (status) => {
      await using other = await answering({});
      await using service = await scriptedService([
        (response) => response.writeHead(status, { location: `${other.baseUrl}/v1/jobs` }).end(),
      ]);
      const client = clientOf(service);
      const blob = `sha256:${'0'.repeat(64)}`;
      for (const ask of [() => client.submit('x'), () => client.detail('job_1'), () => client.download(blob)]) {
        await expect(ask()).rejects.toMatchObject({ reason: 'unstructured', status });
      }
      expect(other.seen).toEqual([]);
    },
  );

  test.each(['@HOST/x', '.HOST/x', '//HOST/x', 'ws://HOST/x', '\\HOST\\x', ':1@HOST/'])(
    'a stream address on another host is refused, so that the host gets no ticket: %s',
    async (spelled) => {
      await using other = await answering({});
      const opened: string[] = [];
      new WebSocketServer({ server: other.server }).on('connection', (_socket, { url = '' }) => opened.push(url));
      const stream_url = spelled.replace('HOST', other.baseUrl.slice('http://'.length));
      await using service = await scriptedService([json(whole(TICKET, { stream_url }), 201)]);
      await expect(Array.fromAsync(clientOf(service).follow('job_1'))).rejects.toMatchObject({
        name: 'TransportFailure',
      });
      expect([opened, other.seen]).toEqual([[], []]);
    },
  );
});

describe('a verdict', () => {
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  const job = { job_id: 'job_1', receipt_sha256: 'a'.repeat(64), terminal_reason: 'exited', exit_code: 0 };
  const run = { ...job, compiler: null, cpu_ms: 7, wall_ms: 8, memory_peak_bytes: 9, account: 'cell' };
  const won = { points: 1, points_max: 1 };
  const line = {
    name: 'one',
    group: 'all',
    compare: 'lines',
    verdict: 'accepted',
    ...won,
    run,
    starved: null,
    check: null,
    validations: [],
    stdin_sha256: null,
    stdout_sha256: sha256('3\n'),
    expected_sha256: sha256('3'),
  };
  const group = { name: 'all', score: 'sum', after: [], stop: false, passed: true, ...won };
  const VERDICT = {
    schema: 'urn:svc:verdict:v2',
    program: { language: 'python', code_sha256: sha256('print(3)'), build: null },
    accepted: true,
    ...won,
    groups: [group],
    tests: [line],
  };

  /** A service with one grading. The job job_1 is the only test, and job_2 is the judge that writes this verdict. */
  function judging(verdict: string): Promise<ScriptedService> {
    const content = Buffer.from(verdict);
    const verdict_sha256 = sha256(verdict);
    const file = {
      path: 'output/verdict.json',
      content_base64: content.toString('base64'),
      size_bytes: content.length,
      sha256: verdict_sha256,
    };
    const timestamp = '2026-01-01T00:00:00.000Z';
    const event = (seq: number, name: string, test: string | null, job_id: string) => {
      const data = { program: 0, name, test, job_id, terminal_reason: 'exited' };
      return { seq, timestamp, kind: 'job', data };
    };
    const said = { accepted: true, points: 1, points_max: 1, job_id: 'job_2', receipt_sha256: 'r2', verdict_sha256 };
    const graded = [{ name: null, language: 'python', status: 'judged', verdict: said, problem: null }];
    const grading = {
      grading_id: 'grading_1',
      status: 'finished',
      created_at: timestamp,
      finished_at: timestamp,
      cancellation_requested: false,
      programs: 1,
      tests: 1,
      runs: 1,
      runs_ended: 1,
      graded,
    };
    const urls = { grading_url: '/v1/gradings/grading_1', events_url: '/v1/gradings/grading_1/events' };
    return scriptedService([
      (response, { method, url }) => {
        if (method === 'POST') {
          return json({ grading_id: 'grading_1', status: 'running', created_at: timestamp, ...urls }, 201)(response);
        }
        if (url.includes('/events'))
          return json({
            items: [event(1, 'test 1', 'one', 'job_1'), event(2, 'judge', null, 'job_2')],
            next_cursor: null,
          })(response);
        if (url.includes('/gradings/')) return json(grading)(response);
        const job_id = url.includes('job_2') ? 'job_2' : 'job_1';
        const ended = { job_id, status: 'succeeded', terminal_reason: 'exited', exit_code: 0 };
        const receipt = { receipt_sha256: 'r', code_sha256: 'c' };
        const artifacts = job_id === 'job_2' ? [file] : [];
        if (url.includes('/result')) return json(whole(RESULT, { ...ended, stdout: '3\n', artifacts }))(response);
        json(whole(DETAIL, { ...ended, receipt }))(response);
      },
    ]);
  }

  const grade = (service: ScriptedService) =>
    clientOf(service).grade('print(3)', { tests: [{ name: 'one', expected: '3' }] });

  test('is returned if it belongs to the requested grading', async () => {
    await using service = await judging(JSON.stringify(VERDICT));
    const named = { job_id: 'job_1', receipt_sha256: run.receipt_sha256, checker: null };
    expect((await grade(service)).verdict).toEqual({ ...VERDICT, tests: [{ ...line, ...named }] });
  });

  test.each<[string, unknown]>([
    ['names another job', { ...VERDICT, tests: [{ ...line, run: { ...run, job_id: '../../ESCAPED' } }] }],
    ['names the judge as a test', { ...VERDICT, tests: [{ ...line, run: { ...run, job_id: 'job_2' } }] }],
    ['names no receipt', { ...VERDICT, tests: [{ ...line, run: { ...run, receipt_sha256: 'r9' } }] }],
    ['names an unknown starved run', { ...VERDICT, tests: [{ ...line, starved: { ...run, job_id: 'job_9' } }] }],
    ['has a time that is a text', { ...VERDICT, tests: [{ ...line, run: { ...run, cpu_ms: '\u001b]0;' } }] }],
    ['has an unknown member in a run', { ...VERDICT, tests: [{ ...line, run: { ...run, more: 1 } }] }],
    ['has a build that did not run', { ...VERDICT, program: { ...VERDICT.program, build: { ...job, job_id: 'x' } } }],
    ['has another group', { ...VERDICT, groups: [{ ...group, name: 'other' }] }],
    ['has a test in another group', { ...VERDICT, tests: [{ ...line, group: 'other' }] }],
    ['gives a group points for nothing', { ...VERDICT, groups: [{ ...group, points: 2 }] }],
    ['has a validation that nobody asked for', { ...VERDICT, tests: [{ ...line, validations: [job] }] }],
    ['compares in another way', { ...VERDICT, tests: [{ ...line, compare: 'words' }] }],
    ['was given another input', { ...VERDICT, tests: [{ ...line, stdin_sha256: sha256('x') }] }],
    ['judges another program', { ...VERDICT, program: { language: 'python', code_sha256: sha256('print(4)') } }],
    ['expects another output', { ...VERDICT, tests: [{ ...line, expected_sha256: sha256('4') }] }],
    ['names another test', { ...VERDICT, tests: [{ ...line, name: 'x\u001b]0;pwn\u0007' }] }],
    ['judges no output', { ...VERDICT, tests: [{ ...line, stdout_sha256: '4' }] }],
    ['has a checker that did not run', { ...VERDICT, tests: [{ ...line, check: { ...job, job_id: '../x' } }] }],
    ['gives points for nothing', { ...VERDICT, points: 9 }],
    ['accepts what was refused', { ...VERDICT, tests: [{ ...line, verdict: 'wrong_answer', points: 0 }], points: 0 }],
    ['has an unknown word for a test', { ...VERDICT, tests: [{ ...line, verdict: 'perfect' }] }],
    ['leaves a test out', { ...VERDICT, tests: [] }],
    ['adds a test', { ...VERDICT, tests: [line, line] }],
    ['has another member', { ...VERDICT, more: 1 }],
    ['has no tests', { ...VERDICT, tests: 'one' }],
    ['is null', null],
  ])('a verdict that %s is refused', async (_what, verdict) => {
    await using service = await judging(JSON.stringify(verdict));
    await expect(grade(service)).rejects.toMatchObject(undecodable);
  });

  test('is refused if it is not JSON', async () => {
    await using service = await judging('{"schema":');
    await expect(grade(service)).rejects.toMatchObject(undecodable);
  });
});

test('an answer to an operation that the contract does not list is refused', async () => {
  const { checkAnswer } = await import('./answer-check.ts');
  expect(() => checkAnswer('GET /v1/unheard-of', {})).toThrow(
    'the contract has no form for an answer to GET /v1/unheard-of',
  );
});
