/** Records the progress of a grading: the ends of its jobs and programs, its own end, and a request to end it. */
import { dropUploads } from '../blobs/blobs.ts';
import { GRADING, hasKey, insertOf, selectBy, updateBy } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { GradedEnd, GradingKey, ProgramEnd } from '../records/gradings.ts';
import type { StoreDatabase } from '../schema.ts';

const selectSeq = selectBy('gradings', GRADING, ['last_seq', 'finished_at', 'cancellation_requested']);
const insertEvent = insertOf('grading_events', [...GRADING, 'seq', 'timestamp', 'kind', 'data']);

const advance = prepared((db, row: GradingKey & { last_seq: number; runs: number }) =>
  db
    .updateTable('gradings')
    .set((of) => ({ last_seq: row.last_seq, runs_ended: of('runs_ended', '+', row.runs) }))
    .where(hasKey('gradings', GRADING, row)),
);

const endJob = updateBy('grading_jobs', [...GRADING, 'program', 'name', 'attempt'], [], {
  to: { is_ended: 1 },
  where: { is_ended: 0 },
});

const setProgram = updateBy('grading_programs', [...GRADING, 'position'], ['status', 'state'], {
  where: { status: 'waiting' },
});

const selectState = selectBy('grading_programs', [...GRADING, 'position'], ['state']);

const selectStatuses = prepared((db, key: GradingKey) =>
  db
    .selectFrom('grading_programs')
    .select('status')
    .distinct()
    .where(hasKey('grading_programs', GRADING, key)),
);

const endGrading = updateBy('gradings', GRADING, ['status', 'finished_at']);
const markRequested = updateBy('gradings', GRADING, [], { to: { cancellation_requested: 1 } });

/** Records the end of a job, once. */
export async function endGradedJob(db: StoreDatabase, { isRun, ...end }: GradedEnd): Promise<void> {
  const grading = await selectSeq.first(db, end);
  if (grading === null || (await endJob.run(db, end)) === 0) return;
  const { program, name, test, job_id, terminal_reason } = end;
  const last_seq = grading.last_seq + 1;
  addEvent(db, end, { seq: last_seq, kind: 'job', data: { program, name, test, job_id, terminal_reason } });
  advance.send(db, { ...end, last_seq, runs: isRun ? 1 : 0 });
}

/** Records a program's end, once; the last program's end also ends the grading. Returns whether the grading has ended. */
export async function endProgram(db: StoreDatabase, { job, ...end }: ProgramEnd): Promise<boolean> {
  if (job !== undefined) await endGradedJob(db, job);
  const grading = await selectSeq.first(db, end);
  if (grading === null || grading.finished_at !== null) return true;
  const program = { tenant: end.tenant, grading_id: end.grading_id, position: end.program };
  const known = await selectState.first(db, program);
  const state = { ...(JSON.parse(known?.state ?? '{}') as object), ...(JSON.parse(end.ended) as object) };
  if ((await setProgram.run(db, { ...program, status: end.status, state: JSON.stringify(state) })) === 0) return false;
  dropUploads(db, end.tenant, end.held);
  let last_seq = grading.last_seq + 1;
  addEvent(db, end, { seq: last_seq, kind: 'program', data: { program: end.program, ...state, status: end.status } });
  const statuses = new Set((await selectStatuses.all(db, end)).map((row) => row.status));
  const isOver = !statuses.has('waiting');
  if (isOver) {
    const ended = statuses.has('cancelled') ? 'cancelled' : statuses.has('failed') ? 'failed' : 'finished';
    last_seq += 1;
    addEvent(db, end, { seq: last_seq, kind: 'finished', data: { status: ended } });
    endGrading.send(db, { ...end, status: ended, finished_at: end.at });
  }
  advance.send(db, { ...end, last_seq, runs: 0 });
  return isOver;
}

function addEvent(
  db: StoreDatabase,
  { tenant, grading_id, at }: GradingKey & { readonly at: string },
  { seq, kind, data }: { readonly seq: number; readonly kind: string; readonly data: object },
): void {
  insertEvent.send(db, { tenant, grading_id, seq, timestamp: at, kind, data: JSON.stringify(data) });
}

/** Requests the end of a grading. From then on, the grading makes no more jobs. */
export async function requestGradingCancel(
  db: StoreDatabase,
  key: GradingKey,
): Promise<'not_found' | 'already_terminal' | 'requested'> {
  const grading = await selectSeq.first(db, key);
  if (grading === null) return 'not_found';
  if (grading.finished_at !== null) return 'already_terminal';
  markRequested.send(db, key);
  return 'requested';
}
