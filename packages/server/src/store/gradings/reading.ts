/** Gradings as their owner reads them, and as the service continues them. */
import type { GradingEvent, ProgramState, ProgramStatus } from '@vouchbox/protocol';
import { sql } from 'kysely';
import { GRADING, hasKey, JOB, same, selectBy } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { GradedJobEnd } from '../records/answers.ts';
import type { GradingKey, GradingRow, GradingWork } from '../records/gradings.ts';
import type { JobKey } from '../records/rows.ts';
import type { GradingTable, StoreDatabase } from '../schema.ts';

const ROW = [
  'tenant',
  'grading_id',
  'status',
  'principal',
  'created_at',
  'finished_at',
  'cancellation_requested',
  'programs',
  'tests',
  'runs_ended',
] as const;

const selectGrading = selectBy('gradings', GRADING, [...ROW, 'common', 'last_seq']);

const selectNewest = prepared((db, range: { tenant: string; created_at: string; grading_id: string; limit: number }) =>
  db
    .selectFrom('gradings')
    .select(ROW)
    .where('tenant', '=', range.tenant)
    .where((row) => row(row.refTuple('created_at', 'grading_id'), '<', row.tuple(range.created_at, range.grading_id)))
    .orderBy('created_at', 'desc')
    .orderBy('grading_id', 'desc')
    .limit(range.limit),
);

const selectRunning = selectBy('gradings', [], ROW, {
  where: { finished_at: null },
  orderBy: ['created_at', 'grading_id'],
});

const selectPrograms = selectBy('grading_programs', GRADING, ['status', 'state'], { orderBy: 'position' });
const selectHeads = selectBy('grading_tests', GRADING, ['head'], { orderBy: 'position' });

const selectJobs = prepared((db, key: GradingKey) =>
  db
    .selectFrom('grading_jobs')
    .innerJoin('grading_programs', (join) =>
      join
        .on(same(GRADING, 'grading_programs', 'grading_jobs'))
        .onRef('grading_programs.position', '=', 'grading_jobs.program'),
    )
    .select([
      'grading_jobs.program',
      'grading_jobs.name',
      'grading_jobs.attempt',
      'grading_jobs.job_id',
      'grading_jobs.is_ended',
    ])
    .where(hasKey('grading_jobs', GRADING, key))
    .where('grading_programs.status', '=', sql.lit('waiting')),
);

const selectProgram = selectBy('grading_programs', [...GRADING, 'position'], ['content']);

interface TestsInput extends GradingKey {
  readonly from: number;
  readonly limit: number;
}

const selectTests = prepared((db, input: TestsInput) =>
  db
    .selectFrom('grading_tests')
    .select('content')
    .where(hasKey('grading_tests', GRADING, input))
    .where('position', '>=', input.from)
    .orderBy('position')
    .limit(input.limit),
);

const selectEvents = prepared((db, page: GradingKey & { after: number; limit: number }) =>
  db
    .selectFrom('grading_events')
    .select(['seq', 'timestamp', 'kind', 'data'])
    .where(hasKey('grading_events', GRADING, page))
    .where('seq', '>', page.after)
    .orderBy('seq')
    .limit(page.limit),
);

const selectEnd = prepared((db, key: JobKey) =>
  db
    .selectFrom('jobs')
    .leftJoin('receipts', (join) => join.on(same(JOB, 'receipts', 'jobs')))
    .select([
      'jobs.terminal_reason',
      'jobs.exit_code',
      'jobs.truncated',
      'receipts.receipt_json',
      'receipts.receipt_sha256',
    ])
    .where(hasKey('jobs', JOB, key)),
);

type Columns = Pick<GradingTable, (typeof ROW)[number]>;

function rowOf({ cancellation_requested, ...row }: Columns): GradingRow {
  return { ...row, cancellation_requested: cancellation_requested === 1 };
}

/** A grading, with its programs in the order in which they were sent; null if the tenant has no such grading. */
export async function grading(
  db: StoreDatabase,
  key: GradingKey,
): Promise<{ readonly row: GradingRow; readonly graded: readonly ProgramState[] } | null> {
  const found = await selectGrading.first(db, key);
  if (found === null) return null;
  const { common: _, last_seq: __, ...row } = found;
  const programs = await selectPrograms.all(db, key);
  const graded = programs.map(({ status, state }) => ({ ...(JSON.parse(state) as ProgramState), status }));
  return { row: rowOf(row), graded };
}

export interface GradingListInput {
  readonly tenant: string;
  readonly limit: number;
  /** The page begins after this grading, newest first; null for the first page. */
  readonly before: { readonly created_at: string; readonly grading_id: string } | null;
}

/** A text that sorts after all timestamps and ids, since these are ASCII. */
const LAST = '\u{10ffff}';

/** A tenant's gradings, newest first. */
export async function gradings(db: StoreDatabase, input: GradingListInput): Promise<readonly GradingRow[]> {
  const { tenant, limit, before } = input;
  const place = before ?? { created_at: LAST, grading_id: LAST };
  return (await selectNewest.all(db, { tenant, limit, ...place })).map(rowOf);
}

/** The gradings of all tenants that have not ended, oldest first. */
export async function runningGradings(db: StoreDatabase): Promise<readonly GradingRow[]> {
  return (await selectRunning.all(db, {})).map(rowOf);
}

/** What is needed to continue a grading; null if there is no such grading. */
export async function gradingWork(db: StoreDatabase, key: GradingKey): Promise<GradingWork | null> {
  const found = await selectGrading.first(db, key);
  if (found === null) return null;
  const { common, last_seq: _, ...row } = found;
  const [heads, programs, jobs] = [
    await selectHeads.all(db, key),
    await selectPrograms.all(db, key),
    await selectJobs.all(db, key),
  ];
  return {
    ...rowOf(row),
    common,
    heads: heads.map(({ head }) => head),
    statuses: programs.map(({ status }): ProgramStatus => status),
    languages: programs.map(({ state }) => (JSON.parse(state) as ProgramState).language),
    jobs: jobs.map(({ is_ended, ...job }) => ({ ...job, is_ended: is_ended === 1 })),
  };
}

/** The content of the program at this position, as JSON. */
export async function gradingProgram(
  db: StoreDatabase,
  key: GradingKey & { readonly position: number },
): Promise<string | null> {
  return (await selectProgram.first(db, key))?.content ?? null;
}

/** The contents of at most `limit` tests from this position on, each as JSON. */
export async function gradingTests(db: StoreDatabase, tests: TestsInput): Promise<readonly string[]> {
  return (await selectTests.all(db, tests)).map(({ content }) => content);
}

export interface GradingEventPage {
  readonly items: readonly GradingEvent[];
  /** Whether the grading has ended and has no event after this page. */
  readonly isComplete: boolean;
}

/** A page of events; null if the tenant has no such grading. */
export async function gradingEvents(
  db: StoreDatabase,
  page: GradingKey & { readonly after: number; readonly limit: number },
): Promise<GradingEventPage | null> {
  const found = await selectGrading.first(db, page);
  if (found === null) return null;
  const rows = await selectEvents.all(db, page);
  const items = rows.map((row) => ({ ...row, data: JSON.parse(row.data) as object }) as unknown as GradingEvent);
  const last = rows.at(-1)?.seq ?? page.after;
  return { items, isComplete: found.finished_at !== null && last >= found.last_seq };
}

/** The end of a grading's job; null if the tenant no longer has this job. */
export async function gradedEnd(db: StoreDatabase, key: JobKey): Promise<GradedJobEnd | null> {
  const found = await selectEnd.first(db, key);
  return found && { ...found, truncated: found.truncated === 1 };
}
