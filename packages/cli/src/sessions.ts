/** `vouchbox sessions`: lists a principal's sessions with their last steps, and removes a session. */
import type { Session } from '@vouchbox/protocol';
import { printable } from '@vouchbox/protocol/vocabulary';
import type { JobOptions } from './jobs.ts';
import { requireService } from './service/service-access.ts';
import { printResult, tableOf } from './terminal/print.ts';

const COLUMNS = ['name', 'language', 'last_job_id', 'running_job_id', 'changed_at'] as const;

/** Prints the sessions, ordered by name. */
export async function listSessions(options: JobOptions): Promise<void> {
  await using service = requireService(options);
  const { items } = await service.client.sessions();
  const rowOf = (item: Session) => COLUMNS.map((column) => item[column] ?? '-');
  printResult(options, tableOf([COLUMNS, ...items.map(rowOf)]), items);
}

/** Removes a session. Its jobs stay. */
export async function removeSession(name: string, options: JobOptions): Promise<void> {
  await using service = requireService(options);
  const answer = await service.client.removeSession(name);
  printResult(options, `${printable(`${name} is removed; its jobs are still there`)}\n`, answer);
}
