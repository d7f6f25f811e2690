/**
 * Cancels a job: cooperatively while it is queued, by force once it runs. The store decides which of the two it is, in one
 * transaction, and the dispatcher is told. Spec § DELETE /v1/jobs/{id}.
 */
import type { JobKey } from '../../store/records.ts';
import type { History } from '../history.ts';
import { jobNotFound } from '../refusals.ts';
import type { Dispatcher } from './dispatcher.ts';

export interface CancelOptions {
  readonly history: Pick<History, 'requestCancel'>;
  readonly dispatcher: Pick<Dispatcher, 'stop'>;
}

/**
 * Asks for a job's end and says whether it had ended already. The request is durable; a running job's end comes after.
 *
 * @throws ServiceError `job_not_found` for an unknown or a foreign job.
 */
export async function cancel(
  key: JobKey & { readonly principal: string },
  { history, dispatcher }: CancelOptions,
): Promise<{ already_terminal: boolean }> {
  const { kind } = await history.requestCancel({ ...key, at: new Date().toISOString() });
  if (kind === 'not_found') throw jobNotFound();
  dispatcher.stop(key.job_id, 'cancelled');
  return { already_terminal: kind === 'already_terminal' };
}
