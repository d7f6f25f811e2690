/** `vouchbox jobs`: shows a service's jobs to a person at a terminal or to another program. */
import type { JobListItem, JobStatus, Language } from '@vouchbox/protocol';
import { JOB_STATUSES, listLimitMax, printable, printableJson } from '@vouchbox/protocol/vocabulary';
import { UsageError } from './failures/usage-error.ts';
import { type AccessOptions, requireService } from './service/service-access.ts';
import { type JsonOption, printResult, tableOf } from './terminal/print.ts';

export interface JobOptions extends AccessOptions, JsonOption {}

export interface ListOptions extends JobOptions {
  readonly limit?: string;
  readonly status?: string;
  readonly language?: Language;
  readonly label?: string;
}

/** Prints one page of jobs, newest first. */
export async function listJobs(options: ListOptions): Promise<void> {
  const filter = {
    ...(options.limit !== undefined && { limit: countOf(options.limit) }),
    ...(options.status !== undefined && { status: statusesOf(options.status) }),
    ...(options.language !== undefined && { language: options.language }),
    ...(options.label !== undefined && { label: options.label }),
  };
  await using service = requireService(options);
  const { items } = await service.client.list(filter);
  printResult(options, tableOf([COLUMNS, ...items.map(rowOf)]), items);
}

/** Prints everything that the service says about one job, as JSON. */
export async function showJob(job_id: string, options: JobOptions): Promise<void> {
  await using service = requireService(options);
  process.stdout.write(`${printableJson(await service.client.detail(job_id), 2)}\n`);
}

/** Asks for a job's cancellation and prints the outcome. */
export async function cancelJob(job_id: string, options: JobOptions): Promise<void> {
  await using service = requireService(options);
  const answer = await service.client.cancel(job_id);
  const how = answer.already_terminal ? 'had ended:' : 'is';
  printResult(options, `${printable(`${job_id} ${how} ${answer.status}`)}\n`, answer);
}

function countOf(text: string): number {
  const count = Number(text);
  if (/^\d{1,9}$/.test(text) && count >= 1 && count <= listLimitMax) return count;
  throw new UsageError(`--limit ${text}: give a whole number from 1 to ${listLimitMax}`);
}

function statusesOf(text: string): JobStatus[] {
  return text.split(',').map((word) => {
    const status = JOB_STATUSES.find((candidate) => candidate === word);
    if (status === undefined) throw new UsageError(`--status ${text}: the statuses are ${JOB_STATUSES.join(', ')}`);
    return status;
  });
}

const COLUMNS = [
  'job_id',
  'status',
  'language',
  'created_at',
  'duration_ms',
  'exit_code',
  'labels',
  'first_line',
] as const;

/** A row of the table, with a dash for each unknown value. */
function rowOf({ labels, ...item }: JobListItem): string[] {
  return COLUMNS.map((column) => String((column === 'labels' ? labels?.join(', ') : item[column]) ?? '-'));
}
