/** `vouchbox jobs`: shows the jobs of a service, for a person at a terminal or for another program. */
import type { JobListItem, JobStatus, Language } from '@vouchbox/protocol';
import { JOB_STATUSES, LANGUAGES, printable, printableJson } from '@vouchbox/protocol/vocabulary';
import { EXIT } from './exit-code.ts';
import { type AccessOptions, requireService } from './service-access.ts';
import { tableOf } from './table.ts';
import { UsageError } from './usage-error.ts';

export interface ListOptions extends AccessOptions {
  readonly limit?: string;
  readonly status?: string;
  readonly language?: string;
  readonly json?: true;
}

/** Prints one page of jobs, newest first. */
export async function listJobs(options: ListOptions): Promise<number> {
  await using service = requireService(options);
  const { items } = await service.client.list({
    ...(options.limit !== undefined && { limit: Number(options.limit) }),
    ...(options.status !== undefined && { status: statusesOf(options.status) }),
    ...(options.language !== undefined && { language: languageOf(options.language) }),
  });
  process.stdout.write(options.json ? `${printableJson(items, 2)}\n` : tableOf([COLUMNS, ...items.map(rowOf)]));
  return EXIT.ok;
}

/** Prints everything the service says of one job, as JSON. */
export async function showJob(job_id: string, options: AccessOptions): Promise<number> {
  await using service = requireService(options);
  process.stdout.write(`${printableJson(await service.client.detail(job_id), 2)}\n`);
  return EXIT.ok;
}

/** Asks for a job's cancellation and prints the outcome. */
export async function cancelJob(job_id: string, options: AccessOptions): Promise<number> {
  await using service = requireService(options);
  const { status, already_terminal } = await service.client.cancel(job_id);
  process.stdout.write(`${job_id} ${already_terminal ? 'had ended:' : 'is'} ${printable(String(status))}\n`);
  return EXIT.ok;
}

function statusesOf(text: string): JobStatus[] {
  return text.split(',').map((word) => {
    const status = JOB_STATUSES.find((candidate) => candidate === word);
    if (status === undefined) throw new UsageError(`--status ${text}: the statuses are ${JOB_STATUSES.join(', ')}`);
    return status;
  });
}

function languageOf(text: string): Language {
  const language = LANGUAGES.find((candidate) => candidate === text);
  if (language === undefined) throw new UsageError(`--language ${text}: the languages are ${LANGUAGES.join(', ')}`);
  return language;
}

const COLUMNS = ['job_id', 'status', 'language', 'created_at', 'duration_ms', 'exit_code'] as const;

/** A dash for an unknown value. */
function rowOf(item: JobListItem): string[] {
  return COLUMNS.map((column) => String(item[column] ?? '-'));
}
