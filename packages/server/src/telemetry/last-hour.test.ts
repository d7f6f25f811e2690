import { expect, test } from 'vitest';
import { LastHour } from './last-hour.ts';

const minute = 60_000;
const began = Date.UTC(2026, 0, 1, 12, 0, 30);

/** An hour whose clock the test sets. */
function rig() {
  let now = began;
  const hour = new LastHour(() => now);
  const ended = (tenant: string, duration_ms: number | null) =>
    hour.ended({ tenant, status: 'succeeded', duration_ms });
  return {
    hour,
    ended,
    after: (milliseconds: number) => {
      now = began + milliseconds;
    },
  };
}

test('ended jobs, waits and runs are counted for each minute since the process started', () => {
  const { hour, after } = rig();
  const created_at = new Date(began).toISOString();
  const waited = (ms: number) =>
    hour.started({ tenant: 'acme', created_at, started_at: new Date(began + ms).toISOString() });
  for (let ms = 1; ms <= 20; ms++) waited(ms);
  for (const duration_ms of [5, 100, 7]) hour.ended({ tenant: 'acme', status: 'failed', duration_ms });
  after(2 * minute);
  waited(-9);
  hour.ended({ tenant: 'acme', status: 'cancelled', duration_ms: null });
  expect(hour.of('acme')).toEqual({
    from: '2026-01-01T12:00:00.000Z',
    queued: [null, null, null],
    running: [null, null, null],
    ended: {
      succeeded: [0, 0, 0],
      failed: [3, 0, 0],
      timed_out: [0, 0, 0],
      oom_killed: [0, 0, 0],
      cancelled: [0, 0, 1],
      error: [0, 0, 0],
    },
    wait_ms: { p50: [10, null, 0], p95: [19, null, 0] },
    run_ms: { p50: [7, null, null], p95: [100, null, null] },
  });
});

test('a tenant sees only its own jobs’ counts', () => {
  const { hour, ended } = rig();
  ended('acme', 5);
  expect(hour.of('other')).toMatchObject({ ended: { succeeded: [0] }, run_ms: { p50: [null] } });
});

test('counts are kept for 60 minutes, and older counts are dropped', () => {
  const { hour, ended, after } = rig();
  ended('acme', 5);
  after(59 * minute);
  expect(hour.of('acme').ended.succeeded).toEqual([1, ...Array(59).fill(0)]);
  after(60 * minute);
  ended('acme', 5);
  expect(hour.of('acme').ended.succeeded).toEqual([...Array(59).fill(0), 1]);
  after(-10 * minute);
  expect(hour.of('acme')).toMatchObject({ from: '2026-01-01T11:50:00.000Z', ended: { succeeded: [0] } });
});

test('only a bounded sample of durations is kept, but every job’s end is counted', () => {
  const { hour, ended, after } = rig();
  for (let job = 0; job < 10_000; job++) ended('acme', job < 5000 ? 10 : 20);
  const { ended: counts, run_ms } = hour.of('acme');
  expect(counts.succeeded).toEqual([10_000]);
  expect([10, 20]).toContain(run_ms.p50[0]);
  after(minute);
  ended('first', 5);
  for (let other = 0; other < 199; other++) ended(`tenant-${other}`, 5);
  expect(hour.of('first').ended.succeeded).toEqual([0, 1]);
  expect(hour.of('acme').ended.succeeded).toEqual([0, 0]);
});

test('the queue’s length is read each minute, and is unknown for a minute in which the store did not answer', async () => {
  const { hour, after } = rig();
  const stopping = new AbortController();
  hour.watch({ counts: () => Promise.resolve({ queued: 3, running: 2 }) }, stopping.signal);
  await expect.poll(() => hour.of('acme').queued).toEqual([3]);
  after(minute);
  hour.watch({ counts: () => Promise.reject(new Error('gone')) }, stopping.signal);
  await Promise.resolve();
  expect(hour.of('acme')).toMatchObject({ queued: [3, null], running: [2, null] });
  stopping.abort();
});
