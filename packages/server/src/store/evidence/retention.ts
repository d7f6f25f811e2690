/** Removes whole terminal jobs after the time for which the operator wants to keep them, a few jobs at a time. */
import { CANARY_TENANT, canaryNamedMilliseconds } from '@vouchbox/evidence';
import { sql } from 'kysely';
import { deleteBy, GRADING, hasIn, JOB, same } from '../by-column.ts';
import { loosenObjects } from '../objects/objects.ts';
import { prepared } from '../prepared.ts';
import type { StoreDatabase } from '../schema.ts';

interface Step {
  readonly before: string;
  readonly limit: number;
}

interface Choice extends Step {
  readonly canariesBefore: string;
}

/** The time before which canaries are removed. They stay twice as long as jobs may name them, since nodes' clocks may differ. */
function canariesBefore(before: string): string {
  return new Date(Date.parse(before) - 2 * canaryNamedMilliseconds).toISOString();
}

function ended(db: StoreDatabase, { before, canariesBefore, limit }: Choice) {
  return (
    db
      .selectFrom('jobs')
      .select(['tenant', 'job_id', 'chain_seq'])
      .where('finished_at', 'is not', null)
      .where('finished_at', '<', before)
      // A canary is kept for as long as a result that may name it.
      .where((row) => row.or([row('tenant', '!=', sql.lit(CANARY_TENANT)), row('finished_at', '<', canariesBefore)]))
      // A grading that has not ended still reads the results of its jobs, so these jobs stay.
      .where((row) =>
        row.not(
          row.exists(
            row
              .selectFrom('grading_jobs')
              .innerJoin('gradings', (join) => join.on(same(GRADING, 'gradings', 'grading_jobs')))
              .select('grading_jobs.job_id')
              .where(same(JOB, 'grading_jobs', 'jobs'))
              .where('gradings.finished_at', 'is', null),
          ),
        ),
      )
      .orderBy('finished_at')
      .limit(limit)
  );
}

function attested(db: StoreDatabase, step: Choice) {
  return ended(db, step).where((is) => is.not(hasIn('attestation_outbox', JOB, { of: 'jobs' })));
}

function logged(db: StoreDatabase, step: Choice) {
  return attested(db, step)
    .where((is) => is.not(hasIn('log_entries', JOB, { of: 'jobs', where: sql`log_entries.position is null` })))
    .where((is) => is.not(hasIn('log_pending', JOB, { of: 'jobs', where: sql`log_pending.position is null` })));
}

const selectEnded = { removed: prepared(ended), kept: prepared(attested), logged: prepared(logged) };

const deleteJob = deleteBy('jobs', JOB);

/**
 * A removal step ends with the job that brings the number of events deleted in this step to this bound. A job with as many events
 * as the recording caps allow is a step of its own.
 */
const stepEventsMax = 2000;

/**
 * Removes terminal jobs that ended before `before`, with all their rows: at most `limit` in one transaction, and fewer if the
 * jobs are large. Returns how many were removed; 0 means that none is left. `unattested` says what happens to jobs in the outbox:
 * `removed`; `kept`; or `logged`, which also keeps jobs that the log does not have yet. All rows of a job refer to the job's own
 * row and are deleted with that row.
 */
export async function deleteEnded(
  db: StoreDatabase,
  { unattested, ...step }: Step & { readonly unattested: keyof typeof selectEnded },
): Promise<number> {
  let [jobs, events] = [0, 0];
  const choice = { ...step, canariesBefore: canariesBefore(step.before) };
  for (const { chain_seq, ...key } of await selectEnded[unattested].all(db, choice)) {
    loosenObjects.send(db, key);
    deleteJob.send(db, key);
    jobs++;
    events += chain_seq;
    if (events >= stepEventsMax) break;
  }
  return jobs;
}
