/** Spec § GET /v1/jobs/{id}/replay, § Events: the stored history, in order, chained, in pages. */
import { createHash } from 'node:crypto';
import type { JobEvent } from '@vouchbox/protocol';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Ran, useRig } from '../rig/rig.ts';

const rig = useRig();
let ran: Ran;

beforeAll(async () => {
  ran = await rig().run({
    language: 'bash',
    code: 'for i in {1..20}; do echo "é $i"; done; echo err >&2; echo x > output/a; exit 3',
    outputs: ['output/a', 'output/missing'],
  });
});

/** RFC 8785 for the data of events: sorted members, no white space. This code is independent of the service's. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const replay = async (query: string, job_id = ran.job_id) => rig().request(`/v1/jobs/${job_id}/replay${query}`);

describe('the history', () => {
  test('has the kinds of events in the order of a job’s life', {
    tags: ['What-3b', 'Events-2', 'Events-3', 'Events-9'],
  }, () => {
    const kinds = ran.events.map(({ kind }) => kind);
    expect(kinds.slice(0, 2)).toEqual(['queued', 'started']);
    expect(kinds.filter((kind) => kind === 'stdout')).toHaveLength(20);
    expect(kinds.filter((kind) => kind === 'stderr')).toHaveLength(1);
    expect(kinds.slice(-3).sort()).toEqual(['artifact', 'finished', 'violation']);
    expect(kinds.at(-1)).toBe('finished');
  });

  test('is numbered from 1 without gaps, and its times never go back', { tags: ['Event-2', 'Events-1'] }, () => {
    expect(ran.events.map(({ seq }) => seq)).toEqual(ran.events.map((_, index) => index + 1));
    const times = ran.events.map(({ timestamp }) => timestamp);
    expect(times.every((time) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time))).toBe(true);
    expect(times.toSorted()).toEqual(times);
  });

  test('has exactly the specified members in every event', {
    tags: ['Event-1', 'Events-7', 'Versioning-3'],
  }, () => {
    for (const event of ran.events) {
      expect(Object.keys(event).sort()).toEqual(
        ['data', 'event_hash', 'hash_version', 'job_id', 'kind', 'prev_hash', 'seq', 'timestamp'].sort(),
      );
      expect(event).toMatchObject({ job_id: ran.job_id, hash_version: 1 });
    }
  });

  test('is a hash chain that anyone can recompute, and the receipt names the chain’s head', {
    tags: ['What-3b', 'Receipt-20', 'Receipt-21'],
  }, () => {
    let prev_hash = '0'.repeat(64);
    for (const { event_hash, prev_hash: named, data, job_id, kind, seq, timestamp } of ran.events) {
      expect(named).toBe(prev_hash);
      prev_hash = sha256(`svc.event.v1\n${canonical({ data, job_id, kind, prev_hash, seq, timestamp })}`);
      expect(event_hash).toBe(prev_hash);
    }
    expect(ran.detail.receipt?.event_chain).toEqual({
      hash_version: 1,
      genesis: '0'.repeat(64),
      head: prev_hash,
      count: ran.events.length,
      complete: true,
    });
  });

  test('shows the submission, the start and the outcome in its events', {
    tags: ['Events-4', 'Events-4a', 'Events-4g'],
  }, () => {
    const dataOf = (kind: string) => ran.events.find((event) => event.kind === kind)?.data;
    const { limits } = ran.detail.requested_spec;
    expect(dataOf('queued')).toEqual({
      language: 'bash',
      runtime: null,
      requirements: { minimum_isolation: 'none' },
      limits,
    });
    expect(dataOf('started')).toEqual({
      backend: 'namespace',
      isolation_class: 'linux-shared-kernel',
      bootstrap_ready: true,
      limits,
    });
    expect(dataOf('violation')).toMatchObject({ type: 'output_missing', path: 'output/missing' });
    expect(dataOf('finished')).toEqual({
      status: 'failed',
      exit_code: 3,
      signal: null,
      terminal_reason: 'exited',
      duration_ms: ran.detail.duration_ms,
    });
  });
});

describe('a page of the history', () => {
  const all = () => ran.events.length;

  test('has the whole history by default, and has no cursor if it contains the last event', {
    tags: ['What-7', 'Bodies-1', 'Replay-4'],
  }, async () => {
    const { status, json, headers } = await replay('');
    expect(status).toBe(200);
    expect(json).toEqual({ events: ran.events, next_cursor: null });
    expect(Number(headers.get('content-length'))).toBeGreaterThan(0);
  });

  test.each([1, 2, 7, 1000])(
    'with at most %i events leads to the next page, and all pages together are the history',
    { tags: ['Replay-2', 'Replay-3'] },
    async (limit) => {
      const events: JobEvent[] = [];
      for (let after: number | null = 0; after !== null; ) {
        const { json } = await replay(`?after=${after}&limit=${limit}`);
        expect(json.events.length).toBeLessThanOrEqual(limit);
        events.push(...json.events);
        expect([null, events.at(-1)?.seq]).toContain(json.next_cursor);
        after = json.next_cursor;
      }
      expect(events).toEqual(ran.events);
    },
  );

  test('that contains the last event also has the result and the receipt if include asks for them', {
    tags: ['Replay-8'],
  }, async () => {
    const { json: result } = await rig().request(`/v1/jobs/${ran.job_id}/result`);
    const both = 'include=result,receipt';
    expect((await replay(`?${both}`)).json).toEqual({
      events: ran.events,
      next_cursor: null,
      result,
      receipt: ran.detail.receipt,
    });
    expect((await replay(`?${both}&after=${all()}`)).json).toMatchObject({ events: [], result });
    expect(Object.keys((await replay('?include=receipt')).json)).toEqual(['events', 'next_cursor', 'receipt']);
    expect(Object.keys((await replay(`?${both}&limit=2`)).json)).toEqual(['events', 'next_cursor']);
    for (const wrong of ['include=', 'include=history', 'include=result&include=receipt'])
      expect((await replay(`?${wrong}`)).status).toBe(400);
  });

  test('starts with the event after its cursor', { tags: ['Replay-1'] }, async () => {
    const { json } = await replay('?after=3&limit=2');
    expect(json.events.map(({ seq }: JobEvent) => seq)).toEqual([4, 5]);
    expect(json.next_cursor).toBe(5);
  });

  test('is empty after the last event', async () => {
    expect((await replay(`?after=${all() - 1}`)).json).toMatchObject({
      events: [{ kind: 'finished' }],
      next_cursor: null,
    });
    expect((await replay(`?after=${all()}`)).json).toEqual({ events: [], next_cursor: null });
    expect((await replay(`?after=${all() + 100}`)).json).toMatchObject({ events: [] });
  });

  test('of a running job is empty and has the same cursor if there is no new event', {
    tags: ['Replay-4'],
  }, async () => {
    const { client } = rig().alpha;
    const { job_id } = await client.submit({
      language: 'bash',
      code: 'echo a; sleep 300',
      limits: { wall_seconds: 300 },
    });
    for await (const { kind } of client.follow(job_id)) if (kind === 'stdout') break;
    expect((await replay('?after=3', job_id)).json).toEqual({ events: [], next_cursor: 3 });
    await client.cancel(job_id);
    await rig().ended(job_id);
  });

  test.each([
    ['?limit=0'],
    ['?limit=1001'],
    ['?limit=1.5'],
    ['?limit=x'],
    ['?after=-1'],
    ['?after=1.5'],
    ['?after='],
    ['?after=1&after=2'],
    ['?before=1'],
  ])('is refused if the query is %s', { tags: ['Replay-2'] }, async (query) => {
    const { status, json } = await replay(query);
    expect([status, json.error.code]).toEqual([400, 'invalid_request']);
  });

  test('is read from the store, without making a new job', { tags: ['Replay-5'] }, async () => {
    const before = await rig().jobCount();
    await replay('');
    expect(await rig().jobCount()).toBe(before);
  });
});
