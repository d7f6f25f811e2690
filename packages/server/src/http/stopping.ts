/** What new work and interrupted waits are answered with once the service is stopping. */
import { ServiceError } from '../service-error.ts';

/** How long a restart may take, as a hint to clients. */
const retryAfterSeconds = 5;

export function shuttingDown(): ServiceError {
  return new ServiceError('shutting_down', 'The service is stopping.', { retryAfterSeconds });
}

/** @throws ServiceError `shutting_down` */
export function refuseWhenStopping(stopping: AbortSignal): void {
  if (stopping.aborted) throw shuttingDown();
}
