/**
 * The log's answers: proofs for a job, for a leaf and between two heads, tiles of hashes, and the log's keys. All answers are
 * about the largest signed head. A leaf that has a position but no signed head yet is not shown.
 */

import {
  consistencyRanges,
  consistencyText,
  inclusionRanges,
  logProofText,
  originOfLog,
  sha256Hex,
  tileHashes,
} from '@vouchbox/evidence';
import { isTerminal } from '@vouchbox/protocol';
import { ServiceError } from '../../ground/service-error.ts';
import type { LogHead, LogState } from '../../store/records/log.ts';
import type { JobKey } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import { jobNotFound } from '../refusals.ts';
import type { ExactBytes } from '../view/attestation.ts';

export interface LogReaderOptions {
  readonly store: Pick<Store, 'logState' | 'logPlace' | 'logPosition' | 'logRanges' | 'logTile' | 'jobSummary'>;
}

/** After how many seconds a proof may exist. A statement gets its head within a second, or later if witnesses are slow. */
const retryAfterSeconds = 1;

/** A log with a signed head. */
type SignedLog = LogState & { readonly head: LogHead };

/**
 * The proof that the log has a job's signed statement.
 *
 * @throws ServiceError `job_not_found`, `job_not_terminal`, `attestation_unavailable`, `log_proof_unavailable`, `not_logged`
 */
export async function logProofOfJob(key: JobKey, options: LogReaderOptions): Promise<ExactBytes> {
  const { store } = options;
  const [place, state] = await Promise.all([store.logPlace(key), store.logState()]);
  if (place === null) throw unplaced(await store.jobSummary(key));
  const proof = await proofAt(place.position, state, store);
  if (proof === null)
    throw new ServiceError('log_proof_unavailable', 'The log does not have the job yet.', { retryAfterSeconds });
  return exact(proof);
}

type Summary = Awaited<ReturnType<Store['jobSummary']>>;

function unplaced(summary: Summary): ServiceError {
  if (summary === null) return jobNotFound();
  if (!isTerminal(summary.status)) return new ServiceError('job_not_terminal', 'The job has not ended yet.');
  if (summary.attestation_available)
    return new ServiceError('not_logged', 'No log is kept, or none was kept when the job was signed.');
  return new ServiceError('attestation_unavailable', 'The job is not signed yet.', { retryAfterSeconds });
}

/** The proof for the leaf at a position; null until a signed head covers the leaf. */
export async function proofAt(
  index: number | null,
  state: LogState | null,
  store: Pick<Store, 'logRanges'>,
): Promise<string | null> {
  const head = state?.head;
  if (index === null || head == null || index >= head.size) return null;
  const hashes = await store.logRanges(inclusionRanges(index, head.size));
  return logProofText({ index, hashes, checkpoint: head.checkpoint, rekorHead: head.rekor_head });
}

function exact(text: string): ExactBytes {
  const bytes = new TextEncoder().encode(text);
  return { bytes, sha256: sha256Hex(bytes) };
}

/** The log's public answers. Each is null if there is nothing to tell. */
export interface PublicLog {
  /** The signed head, as https://c2sp.org/tlog-checkpoint. */
  checkpoint(): Promise<string | null>;
  /** A tile's hashes, one after the other: all 256, or as many as `width` says. */
  tile(tile: { readonly level: number; readonly index: number; readonly width: number }): Promise<Uint8Array | null>;
  /** The proof for the leaf with this hash. It can be read as long as the log exists, even after the leaf's job was removed. */
  proof(leaf: Uint8Array): Promise<string | null>;
  /** The proof that the latest head begins with the first `old` leaves. */
  consistency(old: number): Promise<string | null>;
  keys(): Promise<LogKeysAnswer | null>;
}

export interface LogKeysAnswer {
  readonly origin: string;
  /** The key as `NAME+HINT+BASE64`. To pin it, get it from elsewhere: a key that comes from the log itself proves nothing. */
  readonly log_key: string;
  /** The DSSE envelope of leaf 0: the statement with which the signer of results opened the log. */
  readonly opening: unknown;
}

export function publicLog(options: LogReaderOptions): PublicLog {
  const { store } = options;
  const signed = async (): Promise<SignedLog | null> => {
    const state = await store.logState();
    return state?.head == null ? null : (state as SignedLog);
  };
  return {
    checkpoint: async () => (await signed())?.head.checkpoint ?? null,
    async tile({ level, index, width }) {
      const size = (await signed())?.head.size ?? 0;
      const isThere = index * tileHashes + width <= Math.floor(size / tileHashes ** level);
      return isThere ? await store.logTile({ level, index, width }) : null;
    },
    async proof(leaf) {
      return await proofAt(await store.logPosition(leaf), await signed(), store);
    },
    async consistency(old) {
      const state = await signed();
      if (state === null || old > state.head.size) return null;
      return consistencyText(
        old,
        await store.logRanges(consistencyRanges(old, state.head.size)),
        state.head.checkpoint,
      );
    },
    async keys() {
      const state = await signed();
      if (state === null) return null;
      const opening = JSON.parse(new TextDecoder().decode(state.opening)) as unknown;
      return { origin: originOfLog(state), log_key: state.log_key, opening };
    },
  };
}
