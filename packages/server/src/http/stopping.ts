/** Keeps new work out once the service is stopping, before anything is taken or read for it. */
import { shuttingDown } from '../job/refusals.ts';

/** @throws ServiceError `shutting_down` */
export function refuseWhenStopping(stopping: AbortSignal): void {
  if (stopping.aborted) throw shuttingDown();
}
