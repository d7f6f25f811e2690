/** Serves a job's promise, and the log's statements about the job while it waits. docs/decisions/0066. */
import { decodeEnvelope, decodeStatement, findSignature, readPromise, sha256Hex } from '@vouchbox/evidence';
import type { PendingStatement, PendingStatements } from '@vouchbox/protocol';
import { ServiceError } from '../../ground/service-error.ts';
import type { LogState } from '../../store/records/log.ts';
import type { PendingRow, PromiseRow } from '../../store/records/promises.ts';
import type { JobKey } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import { readUntil, refuseInterrupted, type Wait } from '../history.ts';
import type { Nudges } from '../nudges.ts';
import { jobNotFound } from '../refusals.ts';
import { isSignedByStrangers } from '../sign/attestation-problem.ts';
import type { AttestationOptions, ExactBytes } from '../view/attestation.ts';
import { proofAt } from './read-log.ts';

export interface PromiseReaderOptions {
  readonly store: Pick<Store, 'jobPromise' | 'pendingOf' | 'jobSummary' | 'logState' | 'logRanges' | 'fleet'>;
  readonly keys: AttestationOptions['keys'];
  readonly nudges: Nudges;
  /** Aborts when the service stops. */
  readonly shutdown: AbortSignal;
}

/** After how many seconds to ask again for a promise. Signing takes only milliseconds. */
const retryAfterSeconds = 1;
/** The most statements in an answer. Each comes with a proof of about thirty hashes. */
const pendingMax = 50;

/**
 * The exact bytes of the signed promise, once it is signed.
 *
 * @throws ServiceError `job_not_found`, `not_promised`, `promise_unavailable` if the promise is not signed in time,
 * `signing_key_unknown`, `shutting_down`
 */
export async function promiseBytes(key: JobKey, wait: Wait, options: PromiseReaderOptions): Promise<ExactBytes> {
  const { envelope, key_id } = await signedPromise(key, wait, options);
  if (envelope === null || key_id === null)
    throw new ServiceError('promise_unavailable', 'The promise is not signed yet.', { retryAfterSeconds });
  await options.keys.learn?.(key_id);
  if (isSignedByStrangers(envelope, options.keys))
    throw new ServiceError('signing_key_unknown', 'The promise was signed with a key that the service does not have.');
  const problem = await promiseProblem(envelope, key, options);
  if (problem !== null) throw new Error(`the stored promise of ${key.job_id} is not served: ${problem}`);
  return { bytes: envelope, sha256: sha256Hex(envelope) };
}

/** The stored promise, read once it is signed or the wait is over. */
async function signedPromise(key: JobKey, wait: Wait, options: PromiseReaderOptions): Promise<PromiseRow> {
  const { store } = options;
  const found = await readUntil(
    ({ envelope }) => envelope !== null,
    async () => (await store.jobPromise(key)) ?? (await unpromised(key, store)),
    { ...options, topic: `promise ${key.job_id}`, wait },
  );
  if (found.envelope === null) refuseInterrupted(wait, options);
  return found;
}

async function unpromised(key: JobKey, store: Pick<Store, 'jobSummary'>): Promise<never> {
  if ((await store.jobSummary(key)) === null) throw jobNotFound();
  throw new ServiceError('not_promised', 'The job was accepted without a promise.');
}

/** Why a stored promise must not be served; null if it may be. No caller ever gets a promise that was changed in the store. */
async function promiseProblem(
  envelope: Uint8Array,
  { tenant, job_id }: JobKey,
  { keys }: PromiseReaderOptions,
): Promise<string | null> {
  const decoded = decodeEnvelope(envelope);
  if (decoded.kind === 'refused') return 'its envelope is malformed';
  const known = decoded.envelope.signatures.flatMap(({ keyid }) => keys.publicKey(keyid) ?? []);
  if ((await findSignature(decoded.envelope, known)) === null) return 'its signature does not hold';
  const statement = decodeStatement(decoded.envelope.payload);
  if (statement.kind === 'refused') return 'its statement is malformed';
  const promise = readPromise(statement.statement);
  if (promise.kind === 'refused') return promise.reason;
  return promise.predicate.tenant === tenant && promise.predicate.jobId === job_id ? null : 'it is of another job';
}

/**
 * The signed statements that a promised job is still waiting, the newest last.
 *
 * @throws ServiceError `job_not_found`, `not_promised`
 */
export async function pendingStatements(key: JobKey, options: PromiseReaderOptions): Promise<PendingStatements> {
  const { store } = options;
  if ((await store.jobPromise(key)) === null) await unpromised(key, store);
  const rows = await store.pendingOf({ key, limit: pendingMax });
  const state = rows.length === 0 ? null : await store.logState();
  return { items: await Promise.all(rows.map((row) => told(row, state, store))) };
}

async function told(
  { stated_at, answer_by, envelope, position }: PendingRow,
  state: LogState | null,
  store: Pick<Store, 'logRanges'>,
): Promise<PendingStatement> {
  return {
    stated_at,
    answer_by,
    envelope: JSON.parse(new TextDecoder().decode(envelope)) as PendingStatement['envelope'],
    log_proof: await proofAt(position, state, store),
  };
}
