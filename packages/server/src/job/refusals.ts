/** Refusals that several stages use. Each has one wording, so that an unknown job and another tenant's job look the same. */
import { ServiceError } from '../ground/service-error.ts';

/** The same refusal for an unknown job and another tenant's job. Spec § Authentication 4. */
export function jobNotFound(): ServiceError {
  return new ServiceError('job_not_found', 'No such job belongs to the tenant.');
}

/** The same refusal for an unknown grading and another tenant's grading. */
export function gradingNotFound(): ServiceError {
  return new ServiceError('grading_not_found', 'No such grading belongs to the tenant.');
}

/** The same refusal for an unknown blob and another tenant's blob. */
export function blobNotFound(): ServiceError {
  return new ServiceError('blob_not_found', 'No such blob belongs to the tenant.');
}

/** The refusal of an answer whose event is not an open call. */
export function toolCallNotFound(): ServiceError {
  return new ServiceError('tool_call_not_found', 'No call of this number waits for an answer in the job.');
}

/** The refusal if the principal has no session of this name. */
export function sessionNotFound(): ServiceError {
  return new ServiceError('session_not_found', 'The principal has no such session.');
}

/** A hint to clients: how long a restart may take. */
const retryAfterSeconds = 5;

/** The refusal of new work while the service stops, and of waits that end because it stops. */
export function shuttingDown(): ServiceError {
  return new ServiceError('shutting_down', 'The service is stopping.', { retryAfterSeconds });
}
