/**
 * Jobs that a grading makes from its rows. The transaction that accepts such a job also writes the row that records the job. So
 * if a process dies between two jobs, neither is made twice.
 */
import { sql } from 'kysely';
import { GRADING, insertOf, selectBy } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { GradedJob } from '../records/inputs.ts';
import type { StoreDatabase } from '../schema.ts';

const selectJob = selectBy('grading_jobs', [...GRADING, 'program', 'name', 'attempt'], ['job_id']);

const selectOpen = selectBy('gradings', GRADING, ['grading_id'], {
  where: { cancellation_requested: 0, finished_at: null },
});

/** Records a job of a grading; part of the transaction that accepts it. */
export const recordGraded = insertOf('grading_jobs', [...GRADING, 'program', 'name', 'attempt', 'job_id'], {
  is_ended: 0,
});

/** How many gradings have not ended, and how many of their jobs are queued. */
const selectCounts = prepared((db, { tenant }: { tenant: string }) =>
  db.selectNoFrom((row) => {
    const rows = row.fn.countAll<number>().as('rows');
    const gradings = row.selectFrom('gradings').select(rows).where('finished_at', 'is', null);
    const tests = row.selectFrom('queue').select(rows).where('is_test', '=', sql.lit(1));
    return [
      gradings.as('gradings'),
      gradings.where('tenant', '=', tenant).as('gradings_of_tenant'),
      tests.as('tests'),
      tests.where('tenant', '=', tenant).as('tests_of_tenant'),
    ];
  }),
);

/** The job already made for this attempt; if there is none, whether the grading makes no more jobs. */
export async function earlierGraded(
  db: StoreDatabase,
  job: GradedJob & { readonly tenant: string },
): Promise<{ readonly job_id: string | null; readonly isOver: boolean }> {
  const earlier = await selectJob.first(db, job);
  if (earlier !== null) return { job_id: earlier.job_id, isOver: false };
  return { job_id: null, isOver: (await selectOpen.first(db, job)) === null };
}

/** The number to add to the number of queued jobs so that each grading counts as one, however many queued jobs it has. */
export async function gradingPlaces(db: StoreDatabase, tenant: string): Promise<{ ofTenant: number; all: number }> {
  const counts = await selectCounts.first(db, { tenant });
  return {
    ofTenant: (counts?.gradings_of_tenant ?? 0) - (counts?.tests_of_tenant ?? 0),
    all: (counts?.gradings ?? 0) - (counts?.tests ?? 0),
  };
}
