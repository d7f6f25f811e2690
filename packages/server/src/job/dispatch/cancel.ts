/**
 * Cancels a job: a queued job ends at once, and a running job is stopped by force. The store decides in one transaction
 * which of the two applies; the dispatcher stops the program. Spec § DELETE /v1/jobs/{id}.
 */
import type { JobKey } from '../../store/records/rows.ts';
import type { History } from '../history.ts';
import type { Nudges } from '../nudges.ts';
import { jobNotFound } from '../refusals.ts';
import type { Dispatcher } from './dispatcher.ts';

export interface CancelOptions {
  readonly nudges: Pick<Nudges, 'send'>;
  readonly history: Pick<History, 'requestCancel'>;
  readonly dispatcher: Pick<Dispatcher, 'stop'>;
}

/**
 * Requests that a job end, and says whether it had already ended. The request is on disk when this resolves; a running
 * job ends later.
 *
 * @throws ServiceError `job_not_found` for an unknown job or another tenant's job.
 */
export async function cancel(
  key: JobKey & { readonly principal: string },
  { history, dispatcher, nudges }: CancelOptions,
): Promise<{ already_terminal: boolean }> {
  const { kind, ...result } = await history.requestCancel({ ...key, at: new Date().toISOString() });
  if (kind === 'not_found') throw jobNotFound();
  const peers = 'peer' in result && result.peer !== undefined ? [result.peer] : [];
  for (const job_id of [key.job_id, ...peers]) {
    dispatcher.stop(job_id, 'cancelled');
    // The job may run on another node.
    if ('node' in result) nudges.send(`stop ${job_id}`, { node: result.node });
  }
  return { already_terminal: kind === 'already_terminal' };
}
