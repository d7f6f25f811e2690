import { describe, expect, it } from 'vitest';
import { breakAt, countCalls, FAULTS, type Fault } from './fault-sweep.ts';
import { randomKills } from './random-kills.ts';

it('a service killed at random moments keeps every promise it made', { timeout: 120_000 }, async () => {
  const run = await randomKills({ kills: 4, seed: 20261121, clients: 4, jobsEach: 3, millisecondsMax: 700 });
  expect(run.problems).toEqual([]);
  expect(run.leftovers).toEqual([]);
  expect(run.jobs).toBeGreaterThan(10);
});

describe.each(Object.keys(FAULTS) as Fault[])('a service that is %s', (fault) => {
  it('keeps every promise, at whichever write of a job it happens', { timeout: 120_000 }, async () => {
    const { beforeListening, inAll } = await countCalls(FAULTS[fault].call);
    expect(inAll).toBeGreaterThan(beforeListening);
    // A sample here; `npm run crash` leaves no write out.
    for (const n of sample(beforeListening + 1, inAll, 2)) {
      expect({ n, problems: await breakAt(fault, n) }).toEqual({ n, problems: [] });
    }
  });
});

/** `count` whole numbers spread from `first` to `last`. */
function sample(first: number, last: number, count: number): number[] {
  const step = (last - first) / (count - 1);
  return [...new Set(Array.from({ length: count }, (_, index) => Math.round(first + index * step)))];
}
