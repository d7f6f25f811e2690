/** A client runs a program in one call, and follows it with long polls. Older clients can do neither. */
import type { JobDetail, JobEvent, ReplayPage } from '@vouchbox/protocol';
import { openCredentials } from '@vouchbox/server';
import { describe, expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';

const rig = useRig({ 'tenant-waits-max': '2' });

function submit(body: unknown, query: string, headers: Readonly<Record<string, string>> = {}) {
  return rig().request(`/v1/jobs${query}`, { method: 'POST', body, headers });
}

const SLEEPS = { language: 'bash', code: 'echo so far; sleep 300', limits: { wall_seconds: 300 } };

describe('a submission with wait_seconds', () => {
  test('answers 201 with the result that a later read returns too', { tags: ['Submit-8'] }, async () => {
    const { status, headers, json } = await submit({ language: 'bash', code: 'echo done; exit 3' }, '?wait_seconds=60');
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`/v1/jobs/${json.job_id}`);
    expect(headers.get('idempotency-replayed')).toBe('false');
    expect(json).toMatchObject({ status: 'queued', result: { status: 'failed', exit_code: 3, stdout: 'done\n' } });
    expect(json.result).toEqual((await rig().request(json.result_url)).json);
  });

  test('answers with a result of two mebibytes', async () => {
    const code = "head -c 1000000 /dev/zero | tr '\\0' x; head -c 1000000 /dev/zero > output/a";
    const { status, json } = await submit({ language: 'bash', code, outputs: ['output/a'] }, '?wait_seconds=60');
    expect(status).toBe(201);
    expect(json.result.stdout).toBe('x'.repeat(1_000_000));
    expect(json.result.artifacts[0]).toMatchObject({ path: 'output/a', size_bytes: 1_000_000 });
  });

  test('answers without a result if the wait runs out, and the job continues', { tags: ['Submit-8a'] }, async () => {
    const { status, json } = await submit(SLEEPS, '?wait_seconds=0.2');
    expect(status).toBe(201);
    expect(json).not.toHaveProperty('result');
    await rig().alpha.client.cancel(json.job_id);
    expect((await rig().ended(json.job_id)).result.status).toBe('cancelled');
  });

  test.each(['', '?wait_seconds=0'])('answers at once with the query %j', async (query) => {
    const { status, json } = await submit({ language: 'bash', code: 'true' }, query);
    expect(status).toBe(201);
    expect(json).not.toHaveProperty('result');
    await rig().ended(json.job_id);
  });

  test('answers a repeated idempotency key with the first job and its result', async () => {
    const body = { language: 'bash', code: 'echo once' };
    const headers = { 'idempotency-key': 'one-call-once' };
    const first = await submit(body, '?wait_seconds=60', headers);
    const second = await submit(body, '?wait_seconds=60', headers);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.json.job_id).toBe(first.json.job_id);
    expect(second.json.result).toEqual(first.json.result);
  });

  test('is refused and makes no job if the tenant has no wait left', { tags: ['Submit-8b'] }, async () => {
    const sleeping = await submit(SLEEPS, '');
    const waits = Array.from({ length: 2 }, () => rig().request(`${sleeping.json.result_url}?wait_seconds=60`));
    const refused = await submit({ language: 'bash', code: 'true' }, '?wait_seconds=60').then(async (answer) => {
      const jobs = await rig().jobCount();
      await rig().alpha.client.cancel(sleeping.json.job_id);
      await Promise.all(waits);
      return { answer, jobs, jobsAfter: await rig().jobCount() };
    });
    expect(refused.answer).toMatchObject({ status: 429, json: { error: { code: 'tenant_capacity_exhausted' } } });
    expect(refused.jobsAfter).toBe(refused.jobs);
  });

  test('is refused for a key that may not read, even under the idempotency key of an earlier job', {
    tags: ['Submit-8c'],
  }, async () => {
    const body = { language: 'bash', code: 'echo a secret' };
    const headers = { 'idempotency-key': 'of-another-principal' };
    const { json } = await submit(body, '?wait_seconds=60', headers);
    await using operator = await openCredentials({ dataDir: rig().dataDir });
    const issued = await operator.create({
      tenant: 'alpha',
      principal: 'ci',
      scopes: ['jobs:submit'],
      expires_at: null,
    });
    const { key } = issued;
    const asked = await rig().request('/v1/jobs?wait_seconds=10', { method: 'POST', body, key, headers });
    expect([asked.status, asked.json.error.code]).toEqual([403, 'insufficient_scope']);
    expect(asked.text).not.toContain('a secret');
    const replayed = await rig().post(body, { key, headers });
    expect([replayed.status, replayed.json.job_id, replayed.json.status]).toEqual([201, json.job_id, 'queued']);
    expect((await rig().request(json.result_url, { key })).status).toBe(403);
  });

  test.each(['-1', '301', 'soon', ''])('is refused with a wait of %j', async (wait) => {
    const { status, json } = await submit({ language: 'bash', code: 'true' }, `?wait_seconds=${wait}`);
    expect(status).toBe(400);
    expect(json.error).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('wait_seconds') });
  });
});

describe('a submission with include', () => {
  const PARTS = 'receipt,detail,history';
  const hello = { language: 'bash', code: 'echo out; echo err >&2' };

  test('answers with the result, and with the receipt, detail and history that other operations return', {
    tags: ['Submit-9', 'Submit-9a'],
  }, async () => {
    const { json } = await submit(hello, `?wait_seconds=60&include=${PARTS}`);
    const detail = await attested(json.job_id);
    expect(json.result.stdout).toBe('out\n');
    expect(json.receipt).toEqual(detail.receipt);
    expect({ ...json.detail, attestation: null }).toEqual({ ...detail, attestation: null });
    expect(json.history).toEqual((await rig().request(`${json.history_url}?limit=1000`)).json);
    expect(json).not.toHaveProperty('stream_ticket');
  });

  test('answers with a whole history of more than 1200 events, and with a program of 200 kB', {
    tags: ['Submit-9a'],
  }, async () => {
    const code = `for ((i = 0; i < 1200; i++)); do echo $i; done # ${'x'.repeat(200_000)}`;
    const { json } = await submit({ language: 'bash', code }, `?wait_seconds=60&include=${PARTS}`);
    expect(json.detail.requested_spec.code).toBe(code);
    expect(json.history.next_cursor).toBeNull();
    expect(json.history.events).toEqual((await rig().ended(json.job_id)).events);
    expect(json.history.events.length).toBeGreaterThan(1200);
  });

  test.each(['', '&wait_seconds=0.2'])(
    'answers without receipt, detail and history if the job does not end in time: %j',
    {
      tags: ['Submit-9a'],
    },
    async (wait) => {
      const { status, json } = await submit(SLEEPS, `?include=${PARTS}${wait}`);
      expect(status).toBe(201);
      const plain = ['created_at', 'history_url', 'job_id', 'result_url', 'status', 'stream_url'];
      expect(Object.keys(json).toSorted()).toEqual(plain);
      await rig().alpha.client.cancel(json.job_id);
      await rig().ended(json.job_id);
    },
  );

  test("answers with a ticket that opens the job's stream once; a repeated submission gets a new ticket", {
    tags: ['Submit-9b'],
  }, async () => {
    const headers = { 'idempotency-key': 'one-call-ticket' };
    const first = await submit(hello, '?include=stream_ticket', headers);
    const second = await submit(hello, '?include=stream_ticket', headers);
    expect(second.json.job_id).toBe(first.json.job_id);
    const tickets = [first, second].map(({ json }) => json.stream_ticket);
    expect(Object.keys(tickets[0]).toSorted()).toEqual(['expires_at', 'expires_in', 'stream_url', 'ticket']);
    expect(tickets[0].ticket).not.toBe(tickets[1].ticket);
    for (const { stream_url } of tickets) {
      expect((await streamed(stream_url)).at(-1)?.kind).toBe('finished');
      await expect(streamed(stream_url)).rejects.toThrow('refused');
    }
  });

  test('answers with a ticket and the result if it also waits', { tags: ['Submit-9b'] }, async () => {
    const { json } = await submit(hello, '?wait_seconds=60&include=stream_ticket');
    expect(json.result.status).toBe('succeeded');
    expect((await streamed(json.stream_ticket.stream_url)).at(-1)?.kind).toBe('finished');
  });

  test.each(['', 'result', 'receipt,', 'receipt,unheard-of', 'receipt&include=detail'])(
    'is refused if include is %j, and makes no job',
    { tags: ['Submit-9'] },
    async (words) => {
      const jobs = await rig().jobCount();
      const { status, json } = await submit(hello, `?include=${words}`);
      expect(status).toBe(400);
      expect(json.error).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('"include"') });
      expect(await rig().jobCount()).toBe(jobs);
    },
  );

  test('a stream ends with the result and the receipt if include asks for them', {
    tags: ['Stream-3f', 'Stream-3b'],
  }, async () => {
    const code = `${hello.code}; head -c 200000 /dev/zero | tr '\\0' é; head -c 200000 /dev/zero > output/a`;
    const { json } = await submit({ language: 'bash', code, outputs: ['output/a'] }, '?include=stream_ticket');
    const frames: object[] = await streamed(`${json.stream_ticket.stream_url}&include=result,receipt`);
    const { receipt } = await attested(json.job_id);
    const { events } = await rig().ended(json.job_id);
    expect(frames.slice(0, -1)).toEqual(events);
    expect(frames.at(-1)).toEqual({ result: (await rig().request(json.result_url)).json, receipt });
    const ticket = async () => (await submit(hello, '?include=stream_ticket')).json.stream_ticket.stream_url as string;
    const again = await ticket();
    const all: object[] = await streamed(`${again}&include=receipt`);
    expect(Object.keys(all.at(-1) ?? {})).toEqual(['receipt']);
    const job_id = again.split('/')[3] ?? '';
    const { stream_url } = (await rig().request(`/v1/jobs/${job_id}/stream-ticket`, { method: 'POST' })).json;
    expect(await streamed(`${stream_url}&after=${all.length - 1}&include=receipt`)).toEqual([all.at(-1)]);
    await expect(streamed(`${await ticket()}&include=history`)).rejects.toThrow('refused');
  });

  /** The detail once the job is signed. No answer waits for the signature. */
  async function attested(job_id: string): Promise<JobDetail> {
    await rig().ended(job_id);
    return (await rig().request(`/v1/jobs/${job_id}`)).json as JobDetail;
  }

  /** The events from one connection. Rejects if the connection is not opened. */
  async function streamed(path: string): Promise<JobEvent[]> {
    const socket = new WebSocket(`${rig().service.url.replace('http', 'ws')}${path}`);
    const events: JobEvent[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.addEventListener('message', ({ data }) => events.push(JSON.parse(data as string) as JobEvent));
    socket.addEventListener('error', () => reject(new Error('refused')));
    socket.addEventListener('close', () => resolve());
    await promise;
    return events;
  }
});

describe('a replay with wait_seconds', () => {
  const replay = async (job_id: string, query: string): Promise<ReplayPage> =>
    (await rig().request(`/v1/jobs/${job_id}/replay?${query}`)).json as ReplayPage;

  test('answers as soon as there is an event after the cursor, and at once when the history is complete', {
    tags: ['Replay-7'],
  }, async () => {
    const { json } = await submit({ language: 'bash', code: 'for i in 1 2 3; do echo $i; sleep 0.2; done' }, '');
    const events: JobEvent[] = [];
    let cursor: number | null = 0;
    while (cursor !== null) {
      const page: ReplayPage = await replay(json.job_id, `after=${cursor}&wait_seconds=60`);
      expect(page.events.length).toBeGreaterThan(0);
      events.push(...page.events);
      cursor = page.next_cursor;
    }
    expect(events).toEqual((await rig().ended(json.job_id)).events);
    expect(await replay(json.job_id, `after=${events.at(-1)?.seq}&wait_seconds=60`)).toEqual({
      events: [],
      next_cursor: null,
    });
  });

  test('answers with an empty page and the given cursor if the wait runs out', {
    tags: ['Replay-7'],
  }, async () => {
    const { json } = await submit(SLEEPS, '');
    const { client } = rig().alpha;
    for await (const { kind } of client.follow(json.job_id)) if (kind === 'stdout') break;
    const { next_cursor } = await replay(json.job_id, 'after=0');
    expect(await replay(json.job_id, `after=${next_cursor}&wait_seconds=0.2`)).toEqual({ events: [], next_cursor });
    await client.cancel(json.job_id);
    await rig().ended(json.job_id);
  });

  test("answers with 404 for another tenant's job, without waiting", async () => {
    const { json } = await submit({ language: 'bash', code: 'true' }, '');
    const { status } = await rig().request(`/v1/jobs/${json.job_id}/replay?wait_seconds=60`, { key: rig().beta.key });
    expect(status).toBe(404);
    await rig().ended(json.job_id);
  });
});

test('the capabilities name the features for waits and for include', async () => {
  const { json } = await rig().request('/v1/capabilities');
  expect(json.features).toEqual(
    expect.arrayContaining(['submission_wait', 'submission_include', 'stream_include', 'replay_wait']),
  );
});
