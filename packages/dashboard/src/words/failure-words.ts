/** What an error means to the person who sees it. */
import { ServiceFailure, TransportFailure, type TransportFailureReason } from '@vouchbox/client';
import { ERRORS, printable } from '@vouchbox/protocol/vocabulary';

export interface FailureWords {
  readonly sentence: string;
  /** The code from the service's error table; null if the service did not answer. */
  readonly code: string | null;
  readonly requestId: string | null;
}

const TRANSPORT: Readonly<Record<TransportFailureReason, string>> = {
  network: 'The service cannot be reached.',
  timeout: 'The service did not answer in time.',
  truncated: 'The answer of the service was cut off.',
  undecodable: 'The answer of the service cannot be read.',
  unstructured: 'Something other than the service answered.',
  digest: 'The bytes that arrived differ from those that the service announced.',
};

const CODES: Readonly<Record<string, string>> = {
  unauthorized: 'The service does not accept this key.',
  insufficient_scope: 'This key may not do that.',
  job_not_found: 'There is no job with this id for your tenant.',
  grading_not_found: 'There is no grading with this id for your tenant.',
  rate_limited: 'Your tenant has made too many requests. Wait a moment.',
  queue_full: `${ERRORS.queue_full.meaning} Try again in a moment.`,
  store_unavailable: 'The service cannot reach its store. Try again in a moment.',
  shutting_down: 'The service is stopping.',
};

export function failureWords(error: unknown): FailureWords {
  if (error instanceof ServiceFailure) {
    const { code, message, requestId } = error;
    return { sentence: CODES[code] ?? printable(message), code, requestId };
  }
  const plain = { code: null, requestId: null };
  if (error instanceof TransportFailure) return { ...plain, sentence: TRANSPORT[error.reason] };
  return { ...plain, sentence: error instanceof Error ? printable(error.message) : 'Something went wrong.' };
}
