/**
 * Pages of a tenant's jobs, newest first. Jobs are ordered by their time of acceptance, because ids from older versions do not
 * sort by time. A page after a cursor stays the same however many jobs come. With a filter, one index range is read for each
 * status and language, and the ranges are merged here.
 */
import type { JobListItem, JobStatus, Language, TerminalStatus } from '@vouchbox/protocol';
import { isTerminal, JOB_STATUSES, LANGUAGES } from '@vouchbox/protocol/vocabulary';
import { sql } from 'kysely';
import { textOf } from '../../ground/json-text.ts';
import { JOB, same } from '../by-column.ts';
import { summaries, summaryOf } from '../jobs/job-columns.ts';
import { jobSummary } from '../jobs/jobs.ts';
import { prepared } from '../prepared.ts';
import type { ListPage } from '../records/answers.ts';
import type { ListInput } from '../records/inputs.ts';
import type { JobSummary, ListPlace } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';

/** A place before the newest job. Its texts sort after all timestamps and ids, since these are ASCII. */
const NEWEST: ListPlace = { created_at: '\u{10ffff}', job_id: '\u{10ffff}' };

interface Range extends ListPlace {
  readonly tenant: string;
  readonly limit: number;
}

const newest = prepared((db, { tenant, created_at, job_id, limit }: Range) =>
  summaries(db)
    .where('jobs.tenant', '=', tenant)
    .where((row) => row(row.refTuple('jobs.created_at', 'jobs.job_id'), '<', row.tuple(created_at, job_id)))
    .orderBy('jobs.created_at', 'desc')
    .orderBy('jobs.job_id', 'desc')
    .limit(limit),
);

const newestPlaces = prepared(
  (db, { tenant, created_at, job_id, limit, status, language }: Range & { status: JobStatus; language: Language }) =>
    db
      .selectFrom('jobs')
      .select(['created_at', 'job_id'])
      .where('tenant', '=', tenant)
      .where('status', '=', status)
      .where('language', '=', language)
      .where((row) => row(row.refTuple('created_at', 'job_id'), '<', row.tuple(created_at, job_id)))
      .orderBy('created_at', 'desc')
      .orderBy('job_id', 'desc')
      .limit(limit),
);

interface LabelAsked {
  readonly label: string;
  /** The language of the jobs; empty for all languages. */
  readonly language: Language | '';
}

/**
 * A page of the jobs with one label, in list order. One query looks up each job's language, and skips jobs in other languages.
 * With a separate query for every few jobs, there could be thousands of queries.
 */
function ofLabel(db: StoreDatabase, { tenant, created_at, job_id, limit, label, language }: Range & LabelAsked) {
  return db
    .selectFrom('job_labels')
    .innerJoin('jobs', (join) => join.on(same(JOB, 'jobs', 'job_labels')))
    .select(['job_labels.created_at', 'job_labels.job_id'])
    .where('job_labels.tenant', '=', tenant)
    .where('job_labels.label', '=', label)
    .where((row) => row(row.refTuple('job_labels.created_at', 'job_labels.job_id'), '<', row.tuple(created_at, job_id)))
    .where(sql<boolean>`cast(${language} as text) in ('', jobs.language)`)
    .orderBy('job_labels.created_at', 'desc')
    .orderBy('job_labels.job_id', 'desc')
    .limit(limit);
}

const labelled = prepared((db, asked: Range & LabelAsked) => ofLabel(db, asked));

const labelledEnded = prepared((db, asked: Range & LabelAsked & { ended: TerminalStatus }) =>
  ofLabel(db, asked).where('job_labels.ended', '=', asked.ended),
);

/** Labelled jobs whose label rows do not say how they ended: the few that wait or run, and those that older code ended. */
const labelledOther = prepared((db, asked: Range & LabelAsked & { status: JobStatus }) =>
  ofLabel(db, asked).where('job_labels.ended', 'is', null).where('jobs.status', '=', asked.status),
);

/** One page of a tenant's jobs, newest first. The page is text, because the caller only passes it on. */
export async function list(db: StoreDatabase, input: ListInput): Promise<ListPage> {
  const { limit } = input;
  // One more job than requested shows whether there is a next page.
  const jobs = await newestJobs(db, { ...input, limit: limit + 1 });
  const page = jobs.slice(0, limit);
  const last = page.at(-1);
  const next = jobs.length > limit && last !== undefined ? { created_at: last.created_at, job_id: last.job_id } : null;
  return { items: textOf(page.map(listItem)), next };
}

function listItem(job: JobSummary): JobListItem {
  return {
    job_id: job.job_id,
    status: job.status,
    language: job.language,
    runtime: job.runtime,
    created_at: job.created_at,
    started_at: job.started_at,
    finished_at: job.finished_at,
    duration_ms: job.duration_ms,
    exit_code: job.exit_code,
    terminal_reason: job.terminal_reason,
    truncated: job.truncated,
    attestation_available: job.attestation_available,
    ...(job.labels !== undefined && { labels: [...job.labels] }),
    ...(job.first_line !== undefined && { first_line: job.first_line }),
  };
}

async function newestJobs(db: StoreDatabase, input: ListInput): Promise<readonly JobSummary[]> {
  const { tenant, limit, statuses, language, label = null } = input;
  const range: Range = { tenant, limit, ...(input.before ?? NEWEST) };
  if (label === null && statuses === null && language === null) return (await newest.all(db, range)).map(summaryOf);
  const page: JobSummary[] = [];
  const places = label === null ? filteredPlaces(db, range, input) : labelledPlaces(db, range, { ...input, label });
  for (const { job_id } of await places) {
    const summary = await jobSummary(db, { tenant, job_id });
    if (summary !== null) page.push(summary);
  }
  return page;
}

async function filteredPlaces(
  db: StoreDatabase,
  range: Range,
  { statuses, language }: ListInput,
): Promise<ListPlace[]> {
  const found: ListPlace[] = [];
  for (const status of new Set(statuses ?? JOB_STATUSES)) {
    for (const known of language === null ? LANGUAGES : [language]) {
      found.push(...(await newestPlaces.all(db, { ...range, status, language: known })));
    }
  }
  return found.sort(newestFirst).slice(0, range.limit);
}

/** The places of labelled jobs. Statuses are read in the order of a job's life, so a job that ends meanwhile is not missed. */
async function labelledPlaces(
  db: StoreDatabase,
  range: Range,
  { statuses, language, label }: ListInput & { readonly label: string },
): Promise<ListPlace[]> {
  const asked = { ...range, label, language: language ?? ('' as const) };
  if (statuses === null) return await labelled.all(db, asked);
  const found = new Map<string, ListPlace>();
  for (const status of JOB_STATUSES.filter((name) => statuses.includes(name))) {
    const places = await labelledOther.all(db, { ...asked, status });
    if (isTerminal(status)) places.push(...(await labelledEnded.all(db, { ...asked, ended: status })));
    for (const place of places) found.set(place.job_id, place);
  }
  return [...found.values()].sort(newestFirst).slice(0, range.limit);
}

function newestFirst(one: ListPlace, other: ListPlace): number {
  const [later, earlier] =
    one.created_at === other.created_at ? [one.job_id, other.job_id] : [one.created_at, other.created_at];
  return later > earlier ? -1 : 1;
}
