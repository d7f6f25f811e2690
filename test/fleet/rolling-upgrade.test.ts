import { expect, inject, test } from 'vitest';
import { NEXT_STEPS } from '../../packages/server/src/store/postgres/migrations/next-version.fixture.ts';
import { rangeOf, STEPS } from '../../packages/server/src/store/postgres/migrations/steps.ts';
import { backfillRowsMax } from '../../packages/server/src/store/postgres/migrations/take-step.ts';
import { dropSchema, newSchema } from '../../packages/server/src/store/postgres/schema.fixture.ts';
import { runRollingUpgrade } from './rolling-upgrade.ts';

test('nodes are replaced by a newer version one after the other while callers submit, and every promise is kept', {
  timeout: 600_000,
}, async () => {
  const databaseUrl = await newSchema(inject('postgresUrl'));
  const run = await runRollingUpgrade({ databaseUrl, provider: 'subprocess' });
  expect(run.problems).toEqual([]);
  expect(run.leftovers).toEqual([]);
  expect(run.attested).toBe(run.jobs);
  // The old form stays while a node needs it, and goes with the last of them.
  expect(run.versions).toEqual([rangeOf(STEPS).knows + 1, rangeOf(NEXT_STEPS).knows]);
  // A node that was killed in the middle goes on where it was, and nothing stays in the old form.
  expect(run).toMatchObject({ movedBeforeKill: 2 * backfillRowsMax, lookedAtAgain: 0, unfilled: 0 });
  expect(run.claimsLeft).toBe(0);
  await dropSchema(databaseUrl);
});
