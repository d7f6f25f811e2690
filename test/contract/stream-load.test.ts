/** Spec § GET /v1/jobs/{id}/replay, § WebSocket stream: histories and readers too large to hold in memory. */
import { STREAM_CLOSE_CODES } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { KEY_OF_ACME } from '../../packages/server/src/http/server.fixture.ts';
import type { JobKey } from '../../packages/server/src/store/records/rows.ts';
import { loadSize, loadTimeout } from './load-size.ts';
import { ScriptedServer } from './scripted-server.ts';

const EVENTS = loadSize({ small: 3000, full: 1_000_000 });
const appendedAtOnce = 1000;

interface Link {
  readonly seq: number;
  readonly kind: string;
  readonly prev_hash: string;
  readonly event_hash: string;
}

/** Checks a history while it is read, and counts its events. Each event must come once and be linked to its predecessor. */
class Reading {
  count = 0;
  head: string | null = null;
  last: string | null = null;
  problem: string | null = null;

  take({ seq, kind, prev_hash, event_hash }: Link): void {
    const isNext = seq === this.count + 1 && (this.head === null || prev_hash === this.head);
    if (!isNext) this.problem ??= `event ${seq} came after ${this.count}`;
    this.count = seq;
    this.head = event_hash;
    this.last = kind;
  }
}

/** Adds this many events with this text to a job's history, as if its program's output were not limited. */
async function append({ rig }: ScriptedServer, key: JobKey, { count, text }: { count: number; text: string }) {
  const timestamp = new Date().toISOString();
  for (let added = 0; added < count; added += appendedAtOnce) {
    const events = Array.from({ length: Math.min(appendedAtOnce, count - added) }, (_, index) => ({
      kind: 'stdout' as const,
      timestamp,
      data: { text: `${added + index} ${text}` },
    }));
    await rig.history.append(key, events);
  }
}

describe('a long history', () => {
  test('is complete in pages and over a stream, and its last hash is the one in the receipt', loadTimeout, async () => {
    await using served = await ScriptedServer.open();
    const { key, cell } = await served.start('long');
    await append(served, key, { count: EVENTS, text: 'x' });
    cell.end({ kind: 'exited', exit_code: 0 });
    const { receipt_json } = await served.rig.ended(key);
    const { head, count } = (JSON.parse(receipt_json ?? '') as { event_chain: { head: string; count: number } })
      .event_chain;
    const whole = { count: EVENTS + 3, head, last: 'finished', problem: null };
    expect(count).toBe(whole.count);

    const paged = new Reading();
    let after: number | null = 0;
    while (after !== null) {
      const page = await replay(served, key, after);
      for (const event of page.events) paged.take(event);
      after = page.next_cursor;
    }
    expect(paged).toEqual(whole);

    const streamed = new Reading();
    const { socket, closed } = served.stream(key);
    socket.removeAllListeners('message');
    socket.on('message', (data: Buffer) => streamed.take(JSON.parse(data.toString()) as Link));
    expect(await closed).toBe(STREAM_CLOSE_CODES.finished);
    expect(streamed).toEqual(whole);
  });
});

async function replay({ server }: ScriptedServer, { job_id }: JobKey, after: number) {
  const headers = { authorization: `Bearer ${KEY_OF_ACME}` };
  const response = await fetch(`${server.url}/v1/jobs/${job_id}/replay?after=${after}&limit=1000`, { headers });
  return (await response.json()) as { events: Link[]; next_cursor: number | null };
}

describe('E-23: a reader of a stream that stops reading', { tags: ['E-23'] }, () => {
  test('gets only what its socket accepts, delays nobody, and continues later at its cursor', {
    ...loadTimeout,
    tags: ['Stream-5a'],
  }, async () => {
    let reads = 0;
    await using served = await ScriptedServer.open({
      bounds: { writeProgressMilliseconds: 500, checkMilliseconds: 50 },
      faults: (real) => ({
        events(input) {
          reads++;
          return real.events(input);
        },
      }),
    });
    const { key, cell } = await served.start('flood');
    const [count, pages] = [loadSize({ small: 2048, full: 16_384 }), 64];
    const slow = served.stream(key);
    await expect.poll(() => slow.frames.length).toBeGreaterThan(0);
    slow.socket.pause();
    reads = 0;
    await append(served, key, { count, text: 'x'.repeat(16_000) });
    reads = 0;
    await expect.poll(() => served.server.permits.held('stream'), { timeout: 60_000 }).toBe(0);
    // The kernel buffers only a few megabytes for a connection, so the service has read only some of the events.
    expect(reads * pages).toBeLessThan(count / 2);

    // Another reader gets everything, and the slow reader resumes after its cursor.
    cell.end({ kind: 'exited', exit_code: 0 });
    const other = served.stream(key);
    expect(await other.closed).toBe(STREAM_CLOSE_CODES.finished);
    expect(other.frames).toHaveLength(count + 3);
    slow.socket.resume();
    expect([STREAM_CLOSE_CODES.lagged, abnormal]).toContain(await slow.closed.catch(() => abnormal));
    const rest = served.stream(key, { after: slow.frames.at(-1)?.seq ?? 0 });
    expect(await rest.closed).toBe(STREAM_CLOSE_CODES.finished);
    const seqs = [...slow.frames, ...rest.frames].map(({ seq }) => seq);
    expect(seqs).toEqual(other.frames.map(({ seq }) => seq));
  });
});

/** A client's view of a connection that ends without a close frame. RFC 6455 § 7.1.5. */
const abnormal = 1006;
