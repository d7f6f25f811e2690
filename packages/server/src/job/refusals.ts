/** Refusals of more than one stage. Each has one wording, so that an unknown job and a foreign one look the same. */
import { ServiceError } from '../ground/service-error.ts';

/** The same refusal for an unknown job and for one of another tenant. Spec § Authentication 4. */
export function jobNotFound(): ServiceError {
  return new ServiceError('job_not_found', 'No such job belongs to the tenant.');
}

/** The same refusal for an unknown grading and for one of another tenant. */
export function gradingNotFound(): ServiceError {
  return new ServiceError('grading_not_found', 'No such grading belongs to the tenant.');
}

/** The same refusal for an unknown blob and for one of another tenant. */
export function blobNotFound(): ServiceError {
  return new ServiceError('blob_not_found', 'No such blob belongs to the tenant.');
}

/** The refusal of an answer to an event that is not an open call. */
export function toolCallNotFound(): ServiceError {
  return new ServiceError('tool_call_not_found', 'No call of this number waits for an answer in the job.');
}

/** The refusal of a session that the principal does not have. */
export function sessionNotFound(): ServiceError {
  return new ServiceError('session_not_found', 'The principal has no such session.');
}

/** How long a restart may take, as a hint to clients. */
const retryAfterSeconds = 5;

/** The refusal of new work, and of waits that end because the service stops. */
export function shuttingDown(): ServiceError {
  return new ServiceError('shutting_down', 'The service is stopping.', { retryAfterSeconds });
}
