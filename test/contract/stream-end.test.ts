/**
 * Spec § WebSocket stream 3 and 5: a job may end at any moment between the replay of the history and the live events.
 * The stream sends each event once and in order, `finished` last, and then closes.
 */
import { STREAM_CLOSE_CODES } from '@vouchbox/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadSize, loadTimeout } from './load-size.ts';
import { ScriptedServer, type Streamed } from './scripted-server.ts';

const TRIES = loadSize({ small: 160, full: 10_000 });
const LANES = 16;

/** A test's callback, called before and after each read of events. The first read has the number 1. */
type OnRead = (read: number, when: 'before' | 'after') => Promise<void> | undefined;
const onReads = new Map<string, { count: number; readonly onRead: OnRead }>();

let served: ScriptedServer;
beforeAll(async () => {
  served = await ScriptedServer.open({
    faults: (real) => ({
      async events(input) {
        // A read with the limit 1 does not come from a follower. Such a read only asks whether the job exists.
        const watch = input.limit > 1 ? onReads.get(input.key.job_id) : undefined;
        const read = watch === undefined ? 0 : ++watch.count;
        await watch?.onRead(read, 'before');
        const events = await real.events(input);
        await watch?.onRead(read, 'after');
        return events;
      },
    }),
  });
});
afterAll(() => served[Symbol.asyncDispose]());

/**
 * When the job ends. A stream reads the stored events, waits, and reads again once there are more. The job ends before
 * or after one of these two reads, before or during the handshake, or once the reader has got the event `started`.
 */
const MOMENTS = [
  { read: 1, when: 'before' },
  { read: 1, when: 'after' },
  { read: 2, when: 'before' },
  { read: 2, when: 'after' },
  'before the handshake',
  'in the handshake',
  'live',
] as const;

/** The plan of a try, derived from the try's number. */
function planOf(number: number) {
  const digit = (base: number, count: number) => Math.floor(number / base) % count;
  const moment = MOMENTS[number % MOMENTS.length] ?? 'live';
  return {
    moment,
    /** Whether the program writes a record after the first read, so that there is a second read. */
    readsAgain: typeof moment === 'object' && moment.read === 2,
    /** True if the stream continues only after the end is stored; false if it continues while the end is being stored. */
    isAwaited: digit(7, 2) === 0,
    /** How many turns of the event loop pass between `moment` and the job's end. */
    turns: digit(14, 5),
    recordsBefore: digit(70, 3),
    recordsAtEnd: digit(210, 3),
    byTicket: digit(7, 4) === 3,
  };
}

/** What went wrong in a try; null if nothing went wrong. */
async function attempt(number: number): Promise<string | null> {
  const plan = planOf(number);
  const { key, cell } = await served.start(`try ${number}`);
  const write = (count: number) => {
    for (let record = 0; record < count; record++) cell.write('stdout', { text: `${number} ${record}` });
  };
  const ticket = plan.byTicket ? { ticket: await served.ticket(key) } : {};
  let ended: Promise<unknown> | null = null;
  const end = async () => {
    for (let turn = 0; turn < plan.turns; turn++) await new Promise(setImmediate);
    write(plan.recordsAtEnd);
    cell.end({ kind: 'exited', exit_code: 0 });
    return await served.rig.ended(key);
  };
  const onRead: OnRead = async (read, when) => {
    const { moment } = plan;
    if (plan.readsAgain && read === 1 && when === 'after') write(1);
    if (typeof moment === 'string' || moment.read !== read || moment.when !== when || ended !== null) return;
    ended = end();
    if (plan.isAwaited) await ended;
  };
  write(plan.recordsBefore);
  if (plan.moment === 'before the handshake') {
    ended = end();
    if (plan.isAwaited) await ended;
  }
  onReads.set(key.job_id, { count: 0, onRead });
  const stream = served.stream(key, ticket);
  if (plan.moment === 'in the handshake') ended = end();
  if (plan.moment === 'live') {
    stream.socket.once('message', () => {
      ended = end();
    });
  }
  const code = await stream.closed;
  onReads.delete(key.job_id);
  await ended;
  return problemWith(stream, code, 3 + plan.recordsBefore + Number(plan.readsAgain) + plan.recordsAtEnd);
}

function problemWith({ frames }: Streamed, code: number, count: number): string | null {
  const seqs = frames.map(({ seq }) => seq);
  const expected = Array.from({ length: count }, (_, index) => index + 1);
  const isWhole = JSON.stringify(seqs) === JSON.stringify(expected) && frames.at(-1)?.kind === 'finished';
  return isWhole && code === STREAM_CLOSE_CODES.finished ? null : `${code}: ${seqs.join(' ')}, of ${count}`;
}

test('E-24: whenever the job ends, a stream sends each event once, with the event finished last, and closes with 1000', {
  ...loadTimeout,
  tags: ['Stream-3a', 'Stream-5', 'Events-9a', 'E-24'],
}, async () => {
  const problems: string[] = [];
  let next = 0;
  const lane = async () => {
    for (let number = next++; number < TRIES; number = next++) {
      const problem = await attempt(number);
      if (problem !== null) problems.push(`${JSON.stringify(planOf(number))}: ${problem}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  expect(problems).toEqual([]);
  expect(next).toBeGreaterThanOrEqual(TRIES);
  await expect.poll(() => served.server.permits.held('stream')).toBe(0);
});
