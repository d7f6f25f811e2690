/** `vouchbox log reopen`: opens the next tree of a log that was rolled back or closed, in a service that runs on this host. */
import { OperatorError, reopenLog, requireData } from '@vouchbox/server/administration';
import { type JsonOption, note, printResult } from '../terminal/print.ts';
import { administeredService, type DataOptions } from './administered-service.ts';

export interface ReopenLogOptions extends DataOptions, JsonOption {
  readonly yes?: boolean;
}

/** Opens the log's next tree, prints the log's key, and reports on stderr what can no longer be proven. */
export async function reopen(options: ReopenLogOptions): Promise<void> {
  const { dataDir } = await administeredService(options);
  requireData(dataDir);
  if (options.yes !== true)
    throw new OperatorError('the service then gives no more proofs of the present tree, and this cannot be undone', {
      hint: 'say --yes if the log is stopped or closed and its store cannot be restored',
    });
  const reopened = await reopenLog(dataDir);
  const { origin, log_key, previous, lost } = reopened;
  const [before = 'no head'] = previous?.split('\n') ?? [];
  note(`REOPENED: ${lost} leaves up to the last head of ${before} are no longer provable`);
  note(`statements whose jobs are still stored are logged again, in ${origin}; people pin its key:`);
  printResult(options, `${log_key}\n`, reopened);
}
