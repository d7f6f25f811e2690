import { describe, expect, test, vi } from 'vitest';
import { WebSocketServer } from 'ws';
import { lastRequests } from '../test/last-requests.ts';
import { json, noAnswer, refusal, type ScriptedService, type Seen, scriptedService } from '../test/scripted-service.ts';
import { whole } from '../test/whole-answer.ts';
import type { JobEvent } from './contract-types.ts';
import { TransportFailure } from './failure.ts';
import { createServiceClient, type ServiceClient } from './service-client.ts';

const folded = whole('GET /v1/jobs/{id}/result', { job_id: 'job_1', status: 'succeeded', exit_code: 0 });
const receipt = { receipt_sha256: 'r', terminal_reason: 'exited' };
const detail = whole('GET /v1/jobs/{id}', {
  ...folded,
  receipt,
});
const FEATURES = { features: ['submission_wait', 'output_patterns'] };
const NEW = { features: [...FEATURES.features, 'submission_include'] };
const SUBMITTED = { job_id: 'job_1', status: 'queued', result: folded };
const routes = {
  'GET /v1/capabilities': json(FEATURES),
  'POST /v1/jobs': json(SUBMITTED, 201),
  'GET /v1/jobs/job_1/result': json(folded),
  'GET /v1/jobs/job_1': json(detail),
} as const;

/** A service that gives these answers in addition to the usual ones, or in place of them. */
function serviceWith(others: Readonly<Record<string, ReturnType<typeof json>>> = {}): Promise<ScriptedService> {
  const answers: Readonly<Record<string, ReturnType<typeof json>>> = { ...routes, ...others };
  return scriptedService([
    (response, { method, url }) => {
      const answer = answers[`${method} ${url.replace(/\?.*/, '')}`];
      if (answer === undefined) response.writeHead(404).end();
      else answer(response);
    },
  ]);
}

function clientOf({ baseUrl }: ScriptedService) {
  return createServiceClient({ baseUrl, apiKey: 'key-1', sleep: async () => {} });
}

const stateOf = ({ runs: { open, waiting } }: ServiceClient) => ({ open, waiting });
const lines = (seen: readonly Seen[]) => seen.map(({ method, url }) => `${method} ${url}`);
const submitted = (seen: readonly Seen[]) =>
  JSON.parse(seen.find(({ method }) => method === 'POST')?.body ?? '') as object;

describe('a run', () => {
  test('needs only one request', { tags: ['Submit-9a'] }, async () => {
    await using service = await serviceWith({
      'GET /v1/capabilities': json(NEW),
      'POST /v1/jobs': json({ ...SUBMITTED, receipt }, 201),
    });
    const client = clientOf(service);
    const { receipt_sha256, terminal_reason, stdout } = await client.run('x');
    expect([receipt_sha256, terminal_reason, stdout]).toEqual(['r', 'exited', '']);
    await client.run('x');
    const one = 'POST /v1/jobs?wait_seconds=50&include=receipt';
    expect(lines(service.seen)).toEqual(['GET /v1/capabilities', one, one]);
  });

  test.each([
    [
      'the end',
      { job_id: 'job_1', status: 'queued' },
      ['GET /v1/jobs/job_1/result?wait_seconds=50', 'GET /v1/jobs/job_1'],
    ],
    ['the receipt', SUBMITTED, ['GET /v1/jobs/job_1']],
  ])('requests %s if the first answer leaves it out', { tags: ['Submit-8a'] }, async (_what, answer, asked) => {
    await using service = await serviceWith({ 'GET /v1/capabilities': json(NEW), 'POST /v1/jobs': json(answer, 201) });
    expect((await clientOf(service).run('x')).receipt_sha256).toBe('r');
    expect(lines(service.seen).slice(2)).toEqual(asked);
  });

  test('needs only one request even if it asks for the history', async () => {
    const events = [{ job_id: 'job_1', seq: 1, kind: 'finished', data: {} }];
    const history = { events, next_cursor: null };
    await using service = await serviceWith({
      'GET /v1/capabilities': json(NEW),
      'POST /v1/jobs': json({ ...SUBMITTED, receipt, history }, 201),
    });
    expect((await clientOf(service).run('x', { history: true })).history).toEqual(events);
    expect(lines(service.seen).slice(1)).toEqual(['POST /v1/jobs?wait_seconds=50&include=receipt%2Chistory']);
    await using older = await serviceWith({ 'GET /v1/jobs/job_1/replay': json(history) });
    const client = clientOf(older);
    expect((await client.run('x', { history: true })).history).toEqual(events);
    expect(await client.run('x')).not.toHaveProperty('history');
  });

  describe('with live output', () => {
    const events = [
      { job_id: 'job_1', seq: 1, kind: 'stdout', data: { text: 'a' } },
      { job_id: 'job_1', seq: 2, kind: 'finished', data: {} },
    ];
    const ticketOf = (ticket: string) =>
      whole('POST /v1/jobs/{id}/stream-ticket', { stream_url: `/v1/jobs/job_1/stream?ticket=${ticket}` });
    const STREAMS = json({ features: [...NEW.features, 'stream_include'] });

    /** Returns a service whose streams send these frames, and the addresses of the streams that were opened. */
    async function streaming(frames: readonly object[], others: Parameters<typeof serviceWith>[0] = {}) {
      const stream_ticket = ticketOf('first');
      const stored = json({ job_id: 'job_1', status: 'queued', stream_ticket }, 201);
      const tickets = { 'POST /v1/jobs/job_1/stream-ticket': json(ticketOf('next'), 201) };
      const service = await serviceWith({
        'GET /v1/capabilities': STREAMS,
        'POST /v1/jobs': stored,
        ...tickets,
        ...others,
      });
      const opened: string[] = [];
      new WebSocketServer({ server: service.server }).on('connection', (socket, { url = '' }) => {
        opened.push(url);
        for (const frame of frames) socket.send(JSON.stringify(frame));
        socket.close(1000);
      });
      return { service, opened };
    }

    test('needs two requests: the submission, and the stream with its result and receipt', {
      tags: ['Stream-3f'],
    }, async () => {
      const left = { ...folded, stdout: 'a\n' };
      const { service, opened } = await streaming([...events, { result: left, receipt }]);
      await using _ = service;
      const heard: unknown[] = [];
      const onEvent = ({ kind }: JobEvent) => heard.push(kind);
      const result = await clientOf(service).run('x', { onEvent, onStdout: (text) => heard.push(text) });
      expect([heard, result.stdout, result.receipt_sha256]).toEqual([['stdout', 'a\n', 'finished'], 'a\n', 'r']);
      expect(lines(service.seen).slice(1)).toEqual(['POST /v1/jobs?include=stream_ticket']);
      expect(opened).toEqual(['/v1/jobs/job_1/stream?ticket=first&after=0&include=result%2Creceipt']);
    });

    test('requests the result and the receipt if the stream did not send them', async () => {
      const { service } = await streaming(events);
      await using _ = service;
      expect((await clientOf(service).run('x', { onStdout: () => {} })).receipt_sha256).toBe('r');
      expect(lines(service.seen).slice(2)).toEqual(['GET /v1/jobs/job_1/result?wait_seconds=50', 'GET /v1/jobs/job_1']);
    });

    test('reads pages if there is no stream, and takes the result from the last page', async () => {
      const page = { events, next_cursor: null, result: { ...folded, stdout: 'a\n' }, receipt };
      const features = [...NEW.features, 'stream_include', 'replay_wait', 'replay_include'];
      await using service = await serviceWith({
        'GET /v1/capabilities': json({ features }),
        'POST /v1/jobs': json({ job_id: 'job_1', status: 'queued' }, 201),
        'GET /v1/jobs/job_1/replay': json(page),
      });
      vi.stubGlobal('WebSocket', undefined);
      const heard: string[] = [];
      const result = await clientOf(service).run('x', { onStdout: (text) => heard.push(text) });
      vi.unstubAllGlobals();
      expect([heard, result.stdout, result.receipt_sha256]).toEqual([['a\n'], 'a\n', 'r']);
      expect(lines(service.seen).slice(1)).toEqual([
        'POST /v1/jobs',
        'GET /v1/jobs/job_1/replay?after=0&limit=1000&wait_seconds=50&include=result%2Creceipt',
      ]);
    });

    test('needs five requests if the service supports neither `include` nor waits', async () => {
      const { service, opened } = await streaming(events, {
        'GET /v1/capabilities': json(FEATURES),
        'POST /v1/jobs': json({ job_id: 'job_1', status: 'queued' }, 201),
      });
      await using _ = service;
      expect((await clientOf(service).run('x', { onStdout: () => {} })).receipt_sha256).toBe('r');
      expect(lines(service.seen).slice(1)).toEqual([
        'POST /v1/jobs',
        'POST /v1/jobs/job_1/stream-ticket',
        'GET /v1/jobs/job_1/result?wait_seconds=50',
        'GET /v1/jobs/job_1',
      ]);
      expect(opened).toEqual(['/v1/jobs/job_1/stream?ticket=next&after=0']);
    });

    test.each([
      ['of another job', { result: { ...folded, job_id: 'job_2' }, receipt }],
      ['that is no result', { result: {}, receipt }],
      ['with the receipt of another job', { result: folded, receipt: { ...receipt, job_id: 'job_2' } }],
    ])('refuses a streamed outcome %s', async (_what, outcome) => {
      const { service } = await streaming([...events, outcome]);
      await using _ = service;
      const run = clientOf(service).run('x', { onStdout: () => {} });
      await expect(run).rejects.toMatchObject({ reason: 'undecodable', job_id: 'job_1' });
    });
  });

  test.each([
    ['the result of another job', { result: { ...folded, job_id: 'job_2' } }],
    ['the receipt of another job', { receipt: { ...receipt, job_id: 'job_2' } }],
    ['an empty receipt', { receipt: {} }],
  ])('refuses an answer with %s', async (_what, wrong) => {
    await using service = await serviceWith({
      'GET /v1/capabilities': json(NEW),
      'POST /v1/jobs': json({ ...SUBMITTED, ...wrong }, 201),
    });
    await expect(clientOf(service).run('x')).rejects.toMatchObject({ reason: 'undecodable' });
  });

  test('needs a second request, for the receipt, if the service can wait but has no `include`', async () => {
    await using service = await serviceWith();
    const client = clientOf(service);
    const { receipt_sha256, terminal_reason, files } = await client.run('x');
    expect([receipt_sha256, terminal_reason, files.size]).toEqual(['r', 'exited', 0]);
    await client.run('x');
    const both = ['POST /v1/jobs?wait_seconds=50', 'GET /v1/jobs/job_1'];
    expect(lines(service.seen)).toEqual(['GET /v1/capabilities', ...both, ...both]);
  });

  test.each([
    ['names no features', json({ features: [] })],
    ['has capabilities without features', json({})],
    ['has no route for capabilities', undefined],
    ['refuses its capabilities to this credential', refusal(403, 'insufficient_scope', {}, false)],
  ])('uses no optional feature if the service %s', async (_what, capabilities) => {
    const others = capabilities && { 'GET /v1/capabilities': capabilities };
    const noWait = { 'POST /v1/jobs': json({ job_id: 'job_1', status: 'queued' }, 201) };
    await using service = await scriptedOr404({ ...noWait, ...others }, capabilities === undefined);
    expect((await clientOf(service).run('x')).status).toBe('succeeded');
    expect(lines(service.seen)).toContain('POST /v1/jobs');
    expect(submitted(service.seen)).toEqual({ language: 'python', code: 'x' });
  });

  /** A scripted service. If `isOlder`, it has no route for capabilities. */
  function scriptedOr404(others: Readonly<Record<string, ReturnType<typeof json>>>, isOlder: boolean) {
    const none = (response: Parameters<ReturnType<typeof json>>[0]) => void response.writeHead(404).end();
    return serviceWith({ ...others, ...(isOlder && { 'GET /v1/capabilities': none }) });
  }

  test('replaces a member of the submission with the option of the same name', async () => {
    await using service = await serviceWith();
    const files = { 'a.txt': 'é', 'input/b': new Uint8Array([255, 0]), c: new Blob(['c']) };
    const given = { language: 'bash', code: 'x', stdin: 'old', outputs: ['output/a'] };
    await clientOf(service).run(given, { files, stdin: 'new', minimumIsolation: 'linux-shared-kernel', args: ['a'] });
    expect(submitted(service.seen)).toEqual({
      language: 'bash',
      code: 'x',
      stdin: 'new',
      outputs: ['output/a'],
      args: ['a'],
      files: [
        { path: 'input/a.txt', content_base64: 'w6k=' },
        { path: 'input/b', content_base64: '/wA=' },
        { path: 'input/c', content_base64: 'Yw==' },
      ],
      requirements: { minimum_isolation: 'linux-shared-kernel' },
    });
  });

  test('makes no job if its signal is already aborted', async () => {
    await using service = await serviceWith();
    const client = clientOf(service);
    await client.run('x');
    const before = service.seen.length;
    await expect(client.run('x', { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
    expect(service.seen).toHaveLength(before);
  });

  test("fails with the job's id if the job was accepted, and without an id if it was refused", async () => {
    await using service = await serviceWith({
      'GET /v1/jobs/job_1': refusal(500, 'internal', {}, false),
      'DELETE /v1/jobs/job_1': json({ ...detail, already_terminal: true }),
    });
    await expect(clientOf(service).run('x')).rejects.toMatchObject({ code: 'internal', job_id: 'job_1' });
    await using full = await serviceWith({ 'POST /v1/jobs': refusal(507, 'insufficient_storage', {}, false) });
    await expect(clientOf(full).run('x')).rejects.toMatchObject({ code: 'insufficient_storage', job_id: null });
  });

  test.each([
    ['refused, as no service is there', undefined, 5, null],
    ['refused by the service', refusal(503, 'shutting_down'), 5, null],
    ['sent, and its answer was lost', noAnswer, 5 + 20, 'job_1'],
  ])('repeats a submission that was %s', async (_what, later, tries, job_id) => {
    const usual = json({ ...SUBMITTED, receipt }, 201, { connection: 'close' });
    let answer = usual;
    await using service = await serviceWith({
      // The answer closes its connection, so that none is open when the service ends.
      'GET /v1/capabilities': json(NEW, 200, { connection: 'close' }),
      'POST /v1/jobs': (response) => answer(response),
    });
    let pauses = 0;
    const sleep = async () => {
      pauses += 1;
      if (pauses === 5 + 20 - 1) answer = usual;
    };
    const client = createServiceClient({ baseUrl: service.baseUrl, apiKey: 'key-1', sleep });
    await client.run('x');
    if (later === undefined) await service[Symbol.asyncDispose]();
    else answer = later;
    const outcome = await client.run('x').catch((error: unknown) => error);
    expect(pauses + 1).toBe(tries);
    expect(outcome).toMatchObject({ job_id });
  });

  test("waits in the client while the tenant's maximum of jobs is open", async () => {
    let held: (() => void)[] = [];
    await using service = await serviceWith({
      'GET /v1/capabilities': json({ ...FEATURES, per_tenant: { waits_max: 2 } }),
      'POST /v1/jobs': (response) => void held.push(() => routes['POST /v1/jobs'](response)),
    });
    const client = clientOf(service);
    const abort = new AbortController();
    const runs = ['a', 'b', 'c', 'd'].map((code) => client.run(code));
    const given = client.run('given up', { signal: abort.signal });
    await expect.poll(() => ({ ...stateOf(client), held: held.length })).toEqual({ open: 2, waiting: 3, held: 2 });
    abort.abort(new Error('enough'));
    await expect(given).rejects.toThrow('enough');
    for (const pair of [runs.slice(0, 2), runs.slice(2)]) {
      await expect.poll(() => held.length).toBe(2);
      for (const answer of held) answer();
      held = [];
      await Promise.all(pair);
    }
    expect(stateOf(client)).toEqual({ open: 0, waiting: 0 });
    expect(lines(service.seen).filter((line) => line === 'GET /v1/capabilities')).toHaveLength(1);
  });

  test.each([
    ['the submission', ['POST', 'POST']],
    ['the cancellation', ['POST', 'GET', 'DELETE']],
  ])(
    'ends soon after its signal aborts, with one try per request, even if the service does not answer %s',
    async (_what, asked) => {
      using last = lastRequests();
      const methods = () => service.seen.slice(1).map(({ method }) => method);
      const held = () => {
        if (methods().length === asked.length) last.end();
      };
      await using service = await serviceWith({
        'GET /v1/jobs/job_1/result': held,
        'DELETE /v1/jobs/job_1': held,
        'POST /v1/jobs': asked.includes('GET') ? json({ job_id: 'job_1', status: 'queued' }, 201) : held,
      });
      const abort = new AbortController();
      const run = clientOf(service).run('x', { signal: abort.signal });
      await expect.poll(methods).toEqual(asked.slice(0, -1));
      abort.abort(new Error('enough'));
      await expect(run).rejects.toThrow('enough');
      expect(methods()).toEqual(asked);
    },
  );

  test.each([
    ['is submitted', ['POST', 'POST', 'DELETE']],
    ['is waited for', ['POST', 'GET', 'DELETE']],
  ])(
    'is cancelled if its signal aborts while its job %s, even if the reason is the error of another run',
    async (_what, asked) => {
      const methods = () => service.seen.slice(1).map(({ method }) => method);
      const stored = json({ job_id: 'job_1', status: 'queued' }, 201);
      await using service = await serviceWith({
        'POST /v1/jobs': (response) => {
          if (asked.includes('GET') || methods().length > 1) stored(response);
        },
        'GET /v1/jobs/job_1/result': () => {},
        'DELETE /v1/jobs/job_1': json({ ...detail, already_terminal: false }),
      });
      const abort = new AbortController();
      const run = clientOf(service).run('x', { signal: abort.signal });
      await expect.poll(methods).toEqual(asked.slice(0, -2).concat(asked.includes('GET') ? 'GET' : []));
      const reason = Object.freeze(Object.assign(new TransportFailure('network', 'no answer'), { job_id: 'job_2' }));
      abort.abort(reason);
      await expect(run).rejects.toBe(reason);
      expect(methods()).toEqual(asked);
      expect(lines(service.seen).at(-1)).toBe('DELETE /v1/jobs/job_1');
    },
  );

  test('sends no cancellation if its job was refused', async () => {
    await using service = await serviceWith({ 'POST /v1/jobs': refusal(400, 'unsupported_language', {}, false) });
    await expect(clientOf(service).run('x')).rejects.toMatchObject({ code: 'unsupported_language' });
    expect(lines(service.seen).filter((line) => line.startsWith('DELETE'))).toEqual([]);
  });

  test.each([
    ['an error', new Error('mine')],
    ['null', null],
    ['undefined', undefined],
    ['an error of another service', Object.assign(new TransportFailure('network', ''), { job_id: 'job_2' })],
    ['an error that cannot be changed', Object.freeze(new TransportFailure('network', ''))],
  ])('cancels the job if a callback throws %s, and fails with exactly that', async (_what, error) => {
    const events = [{ job_id: 'job_1', seq: 1, kind: 'stdout', data: { text: 'a' } }];
    await using service = await serviceWith({
      'GET /v1/jobs/job_1/replay': json({ events, next_cursor: 1 }),
      'DELETE /v1/jobs/job_1': json({ ...detail, already_terminal: false }),
    });
    const members = () => Object.entries(error ?? {});
    const before = members();
    const onStdout = async () => Promise.reject(error);
    await expect(clientOf(service).run('x', { onStdout })).rejects.toBe(error);
    expect(members()).toEqual(before);
    expect(lines(service.seen).at(-1)).toBe('DELETE /v1/jobs/job_1');
  });
});

describe('the address and the key of a client', () => {
  test.each([
    '',
    'localhost:8080',
    'ftp://a',
    'http://',
    'http://u:p@a',
    'http://a/?b',
    'http://a/#b',
    'http://a b',
    'http://[',
    'http://a:99999',
  ])('are refused when the client is created: address %j', (baseUrl) => {
    expect(() => createServiceClient({ baseUrl, apiKey: null })).toThrow(TypeError);
  });

  test.each(['', 'a b', 'é', 'a\n'])('are refused when the client is created: key %j', (apiKey) => {
    expect(() => createServiceClient({ baseUrl: 'http://a', apiKey })).toThrow(TypeError);
  });

  test.each(['http://a', 'https://a.b:8443/prefix/', 'http://[::1]:80'])('are accepted: address %s', (baseUrl) => {
    expect(() => createServiceClient({ baseUrl, apiKey: 'k' })).not.toThrow();
  });
});
