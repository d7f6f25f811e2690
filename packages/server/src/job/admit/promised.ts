/** The promise that a job gets at its acceptance, if a log is kept. docs/decisions/0066. */
import type { RequestedSpec } from '@vouchbox/protocol';
import type { ServiceError } from '../../ground/service-error.ts';
import type { AdmitInput } from '../../store/records/inputs.ts';
import { promiseTimes } from '../promise-times.ts';
import { refusal } from './refuse.ts';

export interface PromiseSettings {
  /** How many seconds the log may take. */
  readonly seconds: number;
  /** Whether all jobs get promises, or only those that ask. */
  readonly forAll: boolean;
}

export function promised(
  { promise }: Pick<RequestedSpec, 'promise'>,
  now: number,
  { promises }: { readonly promises: PromiseSettings | null },
): Pick<AdmitInput, 'promise'> {
  const isPromised = promises !== null && (promises.forAll || promise === true);
  return isPromised ? { promise: promiseTimes(now, promises.seconds) } : {};
}

export function notOffered(): ServiceError {
  return refusal('promise_not_offered', '/promise', 'cannot be kept: this service keeps no log');
}
