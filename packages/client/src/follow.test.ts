import { STREAM_CLOSE_CODES } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { json, noAnswer, refusal, type ScriptedService, type Seen, scriptedService } from '../test/scripted-service.ts';
import { whole } from '../test/whole-answer.ts';
import { createServiceClient } from './service-client.ts';

const event = (seq: number, kind = 'stdout') => ({ job_id: 'job_1', seq, kind, data: { text: String(seq) } });
const frame = (seq: number, kind?: string) => JSON.stringify(event(seq, kind));
const ticket = json(whole('POST /v1/jobs/{id}/stream-ticket', { stream_url: '/v1/jobs/job_1/stream?ticket=t' }), 201);

/** Serves one scripted connection after another on the stream's path, and remembers the addresses that were opened. */
function streams(service: ScriptedService, connections: readonly ((socket: WebSocket) => void)[]): string[] {
  const opened: string[] = [];
  const sockets = new WebSocketServer({ server: service.server });
  sockets.on('connection', (socket, { url = '' }) => {
    opened.push(url);
    connections[Math.min(opened.length, connections.length) - 1]?.(socket);
  });
  return opened;
}

function sending(...frames: readonly string[]): (socket: WebSocket) => void {
  return (socket) => {
    for (const sent of frames) socket.send(sent);
  };
}

function clientOf({ baseUrl }: ScriptedService, legacy: 'none' | 'key-in-stream-url' = 'none') {
  return createServiceClient({ baseUrl, apiKey: 'key-1', sleep: async () => {}, legacy, retry: { attemptsMax: 3 } });
}

async function seqsOf(events: AsyncIterable<{ seq: number }>): Promise<number[]> {
  return Array.fromAsync(events, ({ seq }) => seq);
}

describe('following a job over the stream', () => {
  test('yields every event, and ends after the event `finished`', async () => {
    await using service = await scriptedService([ticket]);
    const opened = streams(service, [
      (socket) => {
        for (const sent of [frame(1), frame(2, 'a-kind-of-tomorrow'), frame(3, 'finished')]) socket.send(sent);
        socket.close(1000);
      },
    ]);
    expect(await seqsOf(clientOf(service).follow('job_1'))).toEqual([1, 2, 3]);
    expect(opened).toEqual(['/v1/jobs/job_1/stream?ticket=t&after=0']);
  });

  test('resumes after the last event with a new ticket, and drops repeated events', {
    tags: ['Stream-4', 'Events-1'],
  }, async () => {
    await using service = await scriptedService([ticket]);
    const opened = streams(service, [
      (socket) => {
        socket.send(frame(1));
        socket.send(frame(2));
        socket.close(1012);
      },
      (socket) => {
        for (const sent of [frame(2), frame(2), frame(3), frame(4, 'finished')]) socket.send(sent);
      },
    ]);
    expect(await seqsOf(clientOf(service).follow('job_1'))).toEqual([1, 2, 3, 4]);
    expect(opened.map((url) => url.split('after=')[1])).toEqual(['0', '2']);
    expect(service.seen).toHaveLength(2);
  });

  const whyClosed = Object.entries(STREAM_CLOSE_CODES).filter(
    ([why]) => why !== 'finished' && why !== 'credentialEnded',
  );
  test.each(whyClosed)(
    'opens another stream at the same event if a stream closed for the reason %s with code %i',
    {
      tags: ['Stream-3e'],
    },
    async (_why, code) => {
      await using service = await scriptedService([ticket]);
      const opened = streams(service, [
        (socket) => {
          socket.send(frame(1));
          socket.close(code);
        },
        (socket) => socket.send(frame(2, 'finished')),
      ]);
      expect(await seqsOf(clientOf(service).follow('job_1'))).toEqual([1, 2]);
      expect(opened.map((url) => url.split('after=')[1])).toEqual(['0', '1']);
    },
  );

  test('reads from the stored history the events that the stream skipped, and yields each event once', {
    tags: ['Stream-5a'],
  }, async () => {
    const stored = json({ events: [event(2), event(3)], next_cursor: 3 });
    await using service = await scriptedService([ticket, stored]);
    streams(service, [
      (socket) => {
        for (const sent of [frame(1), frame(4), frame(3), frame(5, 'finished')]) socket.send(sent);
      },
    ]);
    expect(await seqsOf(clientOf(service).follow('job_1'))).toEqual([1, 2, 3, 4, 5]);
    expect(service.seen.map(({ url }) => url)).toEqual([
      '/v1/jobs/job_1/stream-ticket',
      '/v1/jobs/job_1/replay?after=1&limit=2',
    ]);
  });

  test('yields the events around a gap if the stored history has the same gap', async () => {
    await using service = await scriptedService([ticket, json({ events: [], next_cursor: 1 })]);
    streams(service, [sending(frame(1), frame(4, 'finished'))]);
    expect(await seqsOf(clientOf(service).follow('job_1'))).toEqual([1, 4]);
  });

  test('yields events with unknown kinds, members and hashes unchanged', {
    tags: ['Stream-5c', 'Events-2a'],
  }, async () => {
    const strange = { ...event(1, 'a-kind-of-tomorrow'), hash_version: 7, prev_hash: 'p', event_hash: 'h', more: [1] };
    await using service = await scriptedService([
      ticket,
      json({ events: [strange, event(2, 'finished')], next_cursor: null }),
    ]);
    streams(service, [sending(JSON.stringify(strange), frame(2, 'finished'))]);
    const client = clientOf(service);
    expect((await Array.fromAsync(client.follow('job_1')))[0]).toEqual(strange);
    expect((await Array.fromAsync(client.events('job_1')))[0]).toEqual(strange);
  });

  test('reconnects each time that a connection has reached its lifetime', async () => {
    await using service = await scriptedService([ticket]);
    const old = (socket: WebSocket) => socket.close(1001);
    const opened = streams(service, [...Array<typeof old>(9).fill(old), (socket) => socket.send(frame(1, 'finished'))]);
    expect(await seqsOf(clientOf(service).follow('job_1'))).toEqual([1]);
    expect(opened).toHaveLength(10);
  });

  test('retries a refused stream with a new ticket after the pause in Retry-After', async () => {
    let minted = 0;
    await using service = await scriptedService([
      (response, { method }) =>
        method === 'GET'
          ? refusal(400, 'invalid_request', {}, false)(response)
          : json(
              whole('POST /v1/jobs/{id}/stream-ticket', { stream_url: `/v1/jobs/job_1/stream?ticket=t${++minted}` }),
              201,
            )(response),
    ]);
    const sockets = new WebSocketServer({ noServer: true });
    const asked: (string | undefined)[] = [];
    service.server.on('upgrade', (request, socket, head) => {
      asked.push(request.url);
      if (asked.length === 1) socket.end('HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\r\n');
      else sockets.handleUpgrade(request, socket, head, (open) => open.send(frame(1, 'finished')));
    });
    const pauses: number[] = [];
    const sleep = async (milliseconds: number) => void pauses.push(milliseconds);
    const client = createServiceClient({ baseUrl: service.baseUrl, apiKey: 'key-1', sleep });
    expect(await seqsOf(client.follow('job_1'))).toEqual([1]);
    expect(asked).toEqual(['/v1/jobs/job_1/stream?ticket=t1&after=0', '/v1/jobs/job_1/stream?ticket=t2&after=0']);
    expect(pauses).toHaveLength(1);
    expect(pauses[0]).toBeGreaterThanOrEqual(1000);
  });

  /** Refuses the first WebSocket, answers a plain request for the stream with `plain`, and then sends the end of the stream. */
  async function refusingOnce(plain: ReturnType<typeof json>): Promise<ScriptedService> {
    const service = await scriptedService([
      (response, seen) => (seen.method === 'GET' ? plain(response) : ticket(response)),
    ]);
    const sockets = new WebSocketServer({ noServer: true });
    let isFirst = true;
    service.server.on('upgrade', (request, socket, head) => {
      if (isFirst) socket.end('HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\n\r\n');
      else sockets.handleUpgrade(request, socket, head, (open) => open.send(frame(1, 'finished')));
      isFirst = false;
    });
    return service;
  }

  test('waits as long as the service asks after a refused stream', { tags: ['Errors-24'] }, async () => {
    await using service = await refusingOnce(refusal(503, 'shutting_down', { 'retry-after': '5' }));
    const pauses: number[] = [];
    const sleep = async (milliseconds: number) => void pauses.push(milliseconds);
    const client = createServiceClient({ baseUrl: service.baseUrl, apiKey: 'key-1', sleep });
    expect(await seqsOf(client.follow('job_1'))).toEqual([1]);
    expect(pauses).toHaveLength(1);
    expect(pauses[0]).toBeGreaterThanOrEqual(5000);
    expect(pauses[0]).toBeLessThan(10_000);
  });

  test('ends if the service refuses the stream for good', async () => {
    await using service = await refusingOnce(refusal(404, 'job_not_found', {}, false));
    await expect(seqsOf(clientOf(service).follow('job_1'))).rejects.toMatchObject({ code: 'job_not_found' });
  });

  test('reports its state: connecting, live, reconnecting and closed', { tags: ['Stream-5b'] }, async () => {
    await using service = await scriptedService([ticket]);
    streams(service, [
      (socket) => {
        socket.send(frame(1));
        socket.close(1012);
      },
      (socket) => socket.send(frame(2, 'finished')),
    ]);
    const told: string[] = [];
    const events = clientOf(service).follow('job_1', { onState: (state) => told.push(state) });
    for await (const { seq } of events) told.push(`event ${seq}`);
    const both = ['connecting', 'live', 'event 1', 'reconnecting', 'live', 'event 2', 'closed'];
    expect(told).toEqual(both);
  });

  test('reports that it is closed when following fails and when the caller stops reading', {
    tags: ['Stream-5b'],
  }, async () => {
    await using service = await scriptedService([refusal(401, 'unauthorized', {}, false)]);
    const told: string[] = [];
    const onState = (state: string) => void told.push(state);
    await expect(seqsOf(clientOf(service).follow('job_1', { onState }))).rejects.toMatchObject({
      code: 'unauthorized',
    });
    expect(told).toEqual(['connecting', 'closed']);
    await using paged = await scriptedService([json({ events: [event(1), event(2)], next_cursor: 2 })]);
    told.length = 0;
    for await (const { seq } of clientOf(paged).follow('job_1', { by: 'replay', onState })) if (seq === 1) break;
    expect(told).toEqual(['connecting', 'live', 'closed']);
  });

  test('starts after the given sequence number', async () => {
    await using service = await scriptedService([ticket]);
    streams(service, [
      (socket) => {
        for (const sent of [frame(7), frame(8), frame(9, 'finished')]) socket.send(sent);
      },
    ]);
    expect(await seqsOf(clientOf(service).follow('job_1', { after: 7 }))).toEqual([8, 9]);
  });

  /** Gives a ticket for each stream. Requests for stored events get these answers in turn, and then the last answer again. */
  const storing = (...answers: readonly ReturnType<typeof json>[]) => {
    const left = [...answers];
    return scriptedService([
      (response, { method, url }: Seen) => {
        if (method === 'POST') ticket(response);
        else if (!url.includes('/replay')) json({ features: [] })(response);
        else (left.length > 1 ? left.shift() : left[0])?.(response);
      },
    ]);
  };
  const lost = Array<typeof noAnswer>(20).fill(noAnswer);

  test('continues with pages after several connections without an event', async () => {
    await using service = await storing(...lost, json({ events: [event(1, 'finished')], next_cursor: null }));
    const opened = streams(service, [(socket) => socket.close(4408)]);
    expect(await seqsOf(clientOf(service).follow('job_1'))).toEqual([1]);
    expect(opened).toHaveLength(3);
  });

  test('waits for a lost service only when it requests pages, not each time that it requests a ticket', async () => {
    await using service = await scriptedService([ticket, noAnswer]);
    streams(service, [(socket) => socket.close(1012)]);
    const retry = { attemptsMax: 3, bearsLoss: true };
    const client = createServiceClient({ baseUrl: service.baseUrl, apiKey: 'key-1', sleep: async () => {}, retry });
    await expect(seqsOf(client.follow('job_1'))).rejects.toMatchObject({ reason: 'network' });
    const tickets = service.seen.filter(({ method }) => method === 'POST');
    expect(tickets.length).toBeLessThanOrEqual(1 + retry.attemptsMax);
  });

  test('reads missing events even after an outage that is longer than the retries of other requests', async () => {
    await using service = await storing(...lost, json({ events: [event(2)], next_cursor: 2 }));
    streams(service, [sending(frame(1), frame(3, 'finished'))]);
    expect(await seqsOf(clientOf(service).follow('job_1'))).toEqual([1, 2, 3]);
  });

  test('ends when the next ticket is refused because the credential has ended', { tags: ['Stream-5c'] }, async () => {
    await using service = await scriptedService([ticket, refusal(401, 'unauthorized', {}, false)]);
    streams(service, [(socket) => socket.close(4401)]);
    await expect(seqsOf(clientOf(service).follow('job_1'))).rejects.toMatchObject({ code: 'unauthorized' });
  });

  test('refuses a message on the stream that is not an event', async () => {
    await using service = await scriptedService([ticket]);
    streams(service, [(socket) => socket.send('{"seq":"1"}')]);
    await expect(seqsOf(clientOf(service).follow('job_1'))).rejects.toMatchObject({ reason: 'undecodable' });
  });

  test.each([
    ['an error', new Error('enough')],
    ['null', null],
  ])('ends with %s if its signal aborts for that reason, and closes its connection', async (_what, reason) => {
    const abort = new AbortController();
    const closed = Promise.withResolvers<void>();
    await using service = await scriptedService([ticket]);
    streams(service, [
      (socket) => {
        socket.on('close', () => closed.resolve());
        socket.send(frame(1), () => abort.abort(reason));
      },
    ]);
    await expect(seqsOf(clientOf(service).follow('job_1', { signal: abort.signal }))).rejects.toBe(reason);
    await closed.promise;
  });

  test.each(['connecting', 'live', 'reconnecting', 'closed'])(
    'ends with the error that a callback throws at the state %s',
    async (bad) => {
      await using service = await scriptedService([ticket]);
      streams(service, [(socket) => socket.close(1012), sending(frame(1, 'finished'))]);
      const onState = (state: string) => {
        if (state === bad) throw new Error('mine');
      };
      await expect(seqsOf(clientOf(service).follow('job_1', { onState }))).rejects.toThrow('mine');
    },
  );

  test('closes its connection when the caller stops reading', async () => {
    const closed = Promise.withResolvers<void>();
    await using service = await scriptedService([ticket]);
    streams(service, [
      (socket) => {
        socket.on('close', () => closed.resolve());
        socket.send(frame(1));
        socket.send(frame(2));
      },
    ]);
    for await (const { seq } of clientOf(service).follow('job_1')) if (seq === 1) break;
    await expect(closed.promise).resolves.toBeUndefined();
  });
});

describe('following a job without a stream', () => {
  /** A service without a ticket route. Its history grows by one event per page. */
  const growing = (missing: Parameters<typeof scriptedService>[0][number]) => {
    let stored = 0;
    return scriptedService([
      (response, request: Seen) => {
        if (request.method === 'POST') return missing(response, request);
        if (request.url.includes('/result')) return; // The service holds this request as it would hold a wait.
        const after = Number(new URLSearchParams(request.url.split('?')[1]).get('after'));
        stored = Math.min(4, stored + 1);
        const events = [event(1), event(2), event(3), event(4, 'finished')].slice(after, stored);
        const last = events.at(-1);
        json({ events, next_cursor: last?.kind === 'finished' ? null : (last?.seq ?? after) })(response);
      },
    ]);
  };

  test.each([
    ['an older service', (response: Parameters<typeof noRoute>[0]) => noRoute(response)],
    ['a service that has no stream yet', refusal(501, 'not_implemented', {}, false)],
    ['a service that names the missing route', refusal(404, 'route_not_found', {}, false)],
    ['a service without a free stream', refusal(503, 'capacity_exhausted')],
  ])('reads the stored events in pages: %s', { tags: ['Versioning-5'] }, async (_name, missing) => {
    await using service = await growing(missing);
    expect(await seqsOf(clientOf(service).follow('job_1'))).toEqual([1, 2, 3, 4]);
    expect(await seqsOf(clientOf(service).follow('job_1', { by: 'replay', after: 2 }))).toEqual([3, 4]);
  });

  /** A service that can hold requests. It answers requests for pages with these pages in turn. */
  const held = (...pages: readonly ReturnType<typeof json>[]) => {
    const left = [...pages];
    return scriptedService([
      (response, { method, url }: Seen) => {
        if (method === 'POST') return ticket(response);
        if (url.includes('/replay')) return left.shift()?.(response);
        if (url.includes('/capabilities')) return json({ features: ['replay_wait'] })(response);
        refusal(400, 'invalid_request', {}, false)(response);
      },
    ]);
  };

  test('requests pages that the service holds, each starting after the last event on the previous page', async () => {
    await using service = await held(
      json({ events: [event(1), event(2)], next_cursor: 2 }),
      json({ events: [], next_cursor: 2 }),
      json({ events: [event(3, 'finished')], next_cursor: null }),
    );
    expect(await seqsOf(clientOf(service).follow('job_1', { by: 'replay' }))).toEqual([1, 2, 3]);
    expect(service.seen.map(({ url }) => url)).toEqual([
      '/v1/capabilities',
      '/v1/jobs/job_1/replay?after=0&limit=1000&wait_seconds=50',
      '/v1/jobs/job_1/replay?after=2&limit=1000&wait_seconds=50',
      '/v1/jobs/job_1/replay?after=2&limit=1000&wait_seconds=50',
    ]);
  });

  test('reports reconnecting while it requests a page again', { tags: ['Stream-5b'] }, async () => {
    await using service = await held(
      json({ events: [event(1)], next_cursor: 1 }),
      noAnswer,
      json({ events: [event(2, 'finished')], next_cursor: null }),
    );
    const told: string[] = [];
    const onState = (state: string) => void told.push(state);
    expect(await seqsOf(clientOf(service).follow('job_1', { by: 'replay', onState }))).toEqual([1, 2]);
    expect(told).toEqual(['connecting', 'live', 'reconnecting', 'live', 'closed']);
  });

  test('survives an outage even if a less patient call had requested the capabilities', async () => {
    let followed: Promise<number[]> | undefined;
    let asked = 0;
    await using service = await scriptedService([
      (response, { url }: Seen) => {
        if (url.includes('/replay')) return json({ events: [event(1, 'finished')], next_cursor: null })(response);
        followed ??= seqsOf(client.follow('job_1', { by: 'replay' }));
        return ++asked < 9 ? noAnswer(response) : json({ features: ['replay_wait'] })(response);
      },
    ]);
    const client = clientOf(service);
    await expect(client.run('x')).rejects.toMatchObject({ reason: 'network' });
    expect(await followed).toEqual([1]);
    expect(asked).toBe(9);
  });

  test('begins if two WebSocket handshakes in a row are refused and the service gives no reason', async () => {
    await using service = await held(json({ events: [event(1, 'finished')], next_cursor: null }));
    let asked = 0;
    service.server.on('upgrade', (_request, socket) => {
      asked++;
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
    });
    expect(await seqsOf(clientOf(service).follow('job_1'))).toEqual([1]);
    expect(asked).toBe(2);
  });

  test('reports an unknown job as unknown, and does not take it for a missing route', {
    tags: ['Errors-28'],
  }, async () => {
    await using service = await scriptedService([refusal(404, 'job_not_found', {}, false)]);
    await expect(seqsOf(clientOf(service).follow('job_1'))).rejects.toMatchObject({ code: 'job_not_found' });
    expect(service.seen).toHaveLength(1);
  });
});

describe("the key in a stream's address", () => {
  test('is used only if the caller allows it; otherwise stored events are read in pages', {
    tags: ['Authentication-6a'],
  }, async () => {
    const end = json({ events: [event(1, 'finished')], next_cursor: null });
    await using service = await scriptedService([noRoute, end]);
    const opened = streams(service, [(socket) => socket.close()]);
    const client = createServiceClient({ baseUrl: service.baseUrl, apiKey: 'key-1', sleep: async () => {} });
    expect(await seqsOf(client.follow('job_1'))).toEqual([1]);
    expect(opened).toEqual([]);
    expect(service.seen.filter(({ url }) => url.includes('key-1'))).toEqual([]);
  });

  test('is used if the caller allows it and the server has no ticket route', {
    tags: ['Authentication-6b'],
  }, async () => {
    await using service = await scriptedService([noRoute]);
    const opened = streams(service, [(socket) => socket.send(frame(1, 'finished'))]);
    expect(await seqsOf(clientOf(service, 'key-in-stream-url').follow('job_1'))).toEqual([1]);
    expect(opened).toEqual(['/v1/jobs/job_1/stream?api_key=key-1&after=0']);
  });

  test('is not used if the service refused with an error code', { tags: ['Authentication-6c'] }, async () => {
    await using service = await scriptedService([refusal(404, 'job_not_found', {}, false)]);
    const opened = streams(service, [(socket) => socket.close()]);
    await expect(seqsOf(clientOf(service, 'key-in-stream-url').follow('job_1'))).rejects.toMatchObject({
      code: 'job_not_found',
    });
    expect(opened).toEqual([]);
  });
});

function noRoute(response: { writeHead(status: number): { end(): void } }): void {
  response.writeHead(404).end();
}
