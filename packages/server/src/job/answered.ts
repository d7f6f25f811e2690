/** Turns a failure of the store or the object store into a refusal that a caller can act on. Spec § Errors, 503 and 507. */
import { ServiceError } from '../ground/service-error.ts';
import { ObjectError } from '../objects/object-store.ts';
import { StoreError } from '../store/store-error.ts';

const retryAfterSeconds = 5;

/** Settles like the promise, except that a `StoreError` or an `ObjectError` becomes a `ServiceError`. */
export async function answered<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ObjectError) throw objectRefusalOf(error);
    throw error instanceof StoreError ? refusalOf(error) : error;
  }
}

/** The refusal. A damaged store or a bug is `internal`, because repeating the request does not help and the operator must act. */
function refusalOf(cause: StoreError): ServiceError {
  switch (cause.code) {
    case 'full':
      return new ServiceError('insufficient_storage', 'There is no space left to store this.', {
        cause,
        retryAfterSeconds,
      });
    case 'busy':
      return new ServiceError('capacity_exhausted', 'The store cannot take this now.', { cause, retryAfterSeconds });
    case 'io':
    case 'read_only':
    case 'unavailable':
    case 'unreachable':
      return new ServiceError('store_unavailable', 'The store does not answer at present.', {
        cause,
        retryAfterSeconds,
      });
    case 'corrupt':
    case 'locked':
    case 'newer_schema':
    case 'unrecognised':
    case 'unopenable':
    case 'internal':
      return new ServiceError('internal', 'The service failed.', { cause });
  }
}

/** The refusal. It leaves out the parts of the message that are meant for operators. */
function objectRefusalOf(cause: ObjectError): ServiceError {
  if (cause.code === 'unreachable') {
    const message = 'A part of the job lies in an object store that does not answer.';
    return new ServiceError('store_unavailable', message, { cause, retryAfterSeconds });
  }
  const problem = {
    refused: 'cannot be read',
    missing: 'is missing',
    damaged: 'is damaged',
  }[cause.code];
  return new ServiceError('internal', `A part of the job lies in an object store and ${problem} there.`, { cause });
}
