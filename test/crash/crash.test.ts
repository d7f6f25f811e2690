import { expect, test } from 'vitest';
import type { FaultPoint } from './fault-points.ts';
import { breakAt } from './fault-sweep.ts';
import { randomKills } from './random-kills.ts';

/** Long enough that a timeout means a hang and not a busy machine. */
const patient = { timeout: 600_000 };

// Two of the fault points. `npm run crash` runs all of them.
test.each<FaultPoint>([
  { step: 'recover', fault: 'told that syncing failed' },
  { step: 'start at once', fault: 'killed after' },
])(
  'a service that is $fault at the step “$step” keeps every promise it made',
  { ...patient, tags: ['RST-04', 'RST-05'] },
  async (point) => {
    expect(await breakAt(point)).toEqual([]);
  },
);

test('a service that is killed at random moments keeps every promise it made', {
  ...patient,
  tags: ['STORE-02'],
}, async () => {
  const run = await randomKills({ kills: 2, seed: 20261121, clients: 4, jobsEach: 3, millisecondsMax: 700 });
  expect(run.problems).toEqual([]);
  expect(run.leftovers).toEqual([]);
  expect(run.attested).toBe(run.jobs);
});
