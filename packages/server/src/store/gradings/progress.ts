/** The progress of a grading: the ends of its jobs and of its programs, its own end, and a request for it. */
import { sql } from 'kysely';
import { dropUploads } from '../blobs/blobs.ts';
import { prepared } from '../prepared.ts';
import type { GradedEnd, GradingKey, ProgramEnd } from '../records/gradings.ts';
import type { GradedJob } from '../records/inputs.ts';
import type { GradingEventTable, GradingTable, StoreDatabase } from '../schema.ts';

const selectSeq = prepared((db, { tenant, grading_id }: GradingKey) =>
  db
    .selectFrom('gradings')
    .select(['last_seq', 'finished_at', 'cancellation_requested'])
    .where('tenant', '=', tenant)
    .where('grading_id', '=', grading_id),
);

const insertEvent = prepared((db, row: GradingEventTable) =>
  db.insertInto('grading_events').values({
    tenant: row.tenant,
    grading_id: row.grading_id,
    seq: row.seq,
    timestamp: row.timestamp,
    kind: row.kind,
    data: row.data,
  }),
);

const advance = prepared((db, row: GradingKey & { last_seq: number; runs: number }) =>
  db
    .updateTable('gradings')
    .set((of) => ({ last_seq: row.last_seq, runs_ended: of('runs_ended', '+', row.runs) }))
    .where('tenant', '=', row.tenant)
    .where('grading_id', '=', row.grading_id),
);

const endJob = prepared((db, row: GradingKey & GradedJob) =>
  db
    .updateTable('grading_jobs')
    .set({ is_ended: 1 })
    .where('tenant', '=', row.tenant)
    .where('grading_id', '=', row.grading_id)
    .where('program', '=', row.program)
    .where('name', '=', row.name)
    .where('attempt', '=', row.attempt)
    .where('is_ended', '=', sql.lit(0)),
);

const setProgram = prepared(
  (db, row: Pick<ProgramEnd, 'tenant' | 'grading_id' | 'program' | 'status'> & { state: string }) =>
    db
      .updateTable('grading_programs')
      .set({ status: row.status, state: row.state })
      .where('tenant', '=', row.tenant)
      .where('grading_id', '=', row.grading_id)
      .where('position', '=', row.program)
      .where('status', '=', sql.lit('waiting')),
);

const selectState = prepared((db, { tenant, grading_id, program }: GradingKey & { program: number }) =>
  db
    .selectFrom('grading_programs')
    .select('state')
    .where('tenant', '=', tenant)
    .where('grading_id', '=', grading_id)
    .where('position', '=', program),
);

const selectStatuses = prepared((db, { tenant, grading_id }: GradingKey) =>
  db
    .selectFrom('grading_programs')
    .select('status')
    .distinct()
    .where('tenant', '=', tenant)
    .where('grading_id', '=', grading_id),
);

const endGrading = prepared((db, row: GradingKey & Pick<GradingTable, 'status'> & { at: string }) =>
  db
    .updateTable('gradings')
    .set({ status: row.status, finished_at: row.at })
    .where('tenant', '=', row.tenant)
    .where('grading_id', '=', row.grading_id),
);

const markRequested = prepared((db, { tenant, grading_id }: GradingKey) =>
  db
    .updateTable('gradings')
    .set({ cancellation_requested: 1 })
    .where('tenant', '=', tenant)
    .where('grading_id', '=', grading_id),
);

/** Records the end of a job, once. */
export async function endGradedJob(db: StoreDatabase, { isRun, ...end }: GradedEnd): Promise<void> {
  const grading = await selectSeq.first(db, end);
  if (grading === null || (await endJob.run(db, end)) === 0) return;
  const { program, name, test, job_id, terminal_reason } = end;
  const last_seq = grading.last_seq + 1;
  addEvent(db, end, { seq: last_seq, kind: 'job', data: { program, name, test, job_id, terminal_reason } });
  advance.send(db, { ...end, last_seq, runs: isRun ? 1 : 0 });
}

/** Records the end of a program, once, and that of the grading with its last one. Returns whether it has ended. */
export async function endProgram(db: StoreDatabase, { job, ...end }: ProgramEnd): Promise<boolean> {
  if (job !== undefined) await endGradedJob(db, job);
  const grading = await selectSeq.first(db, end);
  if (grading === null || grading.finished_at !== null) return true;
  const known = await selectState.first(db, end);
  const state = { ...(JSON.parse(known?.state ?? '{}') as object), ...(JSON.parse(end.ended) as object) };
  if ((await setProgram.run(db, { ...end, state: JSON.stringify(state) })) === 0) return false;
  dropUploads(db, end.tenant, end.held);
  let last_seq = grading.last_seq + 1;
  const { program, status } = end;
  addEvent(db, end, { seq: last_seq, kind: 'program', data: { program, ...state, status } });
  const statuses = new Set((await selectStatuses.all(db, end)).map((row) => row.status));
  const isOver = !statuses.has('waiting');
  if (isOver) {
    const ended = statuses.has('cancelled') ? 'cancelled' : statuses.has('failed') ? 'failed' : 'finished';
    last_seq += 1;
    addEvent(db, end, { seq: last_seq, kind: 'finished', data: { status: ended } });
    endGrading.send(db, { ...end, status: ended });
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

/** Asks for the end of a grading. It makes no more jobs from then on. */
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
