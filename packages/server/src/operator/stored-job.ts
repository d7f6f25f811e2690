/**
 * One attested job from the store of a stopped service, for an operator who passes its evidence on. The stored bytes
 * get the same check as before they are served, so tampered data is not exported either.
 */
import type { JobEvent, StoredSpec } from '@vouchbox/protocol';
import { replayLimitMax } from '@vouchbox/protocol/vocabulary';
import { attestationProblem } from '../job/sign/attestation-problem.ts';
import { knownKeys } from '../job/sign/keys/signing-keys.ts';
import { type OpenStoreOptions, openStore } from '../store/open-store.ts';
import type { JobKey, StoredArtifact } from '../store/records/rows.ts';
import type { Store } from '../store/store.ts';
import { StoreError } from '../store/store-error.ts';
import { OperatorError } from './operator-error.ts';
import { requireStore } from './require-store.ts';

/** Everything known about an attested job. */
export interface StoredJob extends JobKey {
  /** The exact stored bytes of the envelope; `result_artifact` is its subject. */
  readonly envelope: Uint8Array;
  readonly result_artifact: Uint8Array;
  /** The receipt's exact text. */
  readonly receipt_json: string;
  readonly events: readonly JobEvent[];
  /** Of the key that signed. */
  readonly public_key_pem: string;
  readonly requested_spec: StoredSpec;
  readonly artifacts: readonly StoredArtifact[];
}

/** @throws OperatorError in one clear line if the store cannot be read, or has no such job or no attestation of it */
export async function readStoredJob(
  key: JobKey,
  options: Pick<OpenStoreOptions, 'dataDir' | 'databaseUrl'>,
): Promise<StoredJob> {
  try {
    requireStore(options);
    await using store = await openStore(options);
    return await readJob(store, key, options.dataDir);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const hint = error.code === 'locked' ? 'ask the service that runs: give --url and --key' : null;
    throw new OperatorError(error.message, { hint, cause: error });
  }
}

async function readJob(store: Store, key: JobKey, dataDir: string): Promise<StoredJob> {
  const job = await store.job(key);
  if (job?.receipt_json == null) throw new OperatorError(`no job ${key.job_id} of ${key.tenant} has ended here`);
  const stored = await store.attestation({ key, part: 'result_artifact' });
  if (stored?.result_artifact == null) throw new OperatorError(`the job ${key.job_id} is not attested`);
  const keys = new Map(knownKeys(dataDir).map((known) => [known.key_id, known]));
  const problem = await attestationProblem(stored, key, { publicKey: (id) => keys.get(id)?.pinned ?? null });
  const signer = keys.get(stored.row.key_id);
  if (problem !== null || signer === undefined) {
    throw new OperatorError(`the attestation of ${key.job_id} is not what was signed: ${problem}`, {
      hint: 'start the service, which signs it again when it is requested',
    });
  }
  return {
    ...key,
    envelope: stored.envelope,
    result_artifact: stored.result_artifact,
    receipt_json: job.receipt_json,
    events: await history(store, key),
    public_key_pem: signer.public_key_pem,
    requested_spec: job.requested_spec,
    artifacts: (await store.artifacts(key)) ?? [],
  };
}

async function history(store: Store, key: JobKey): Promise<JobEvent[]> {
  const events: JobEvent[] = [];
  for (;;) {
    const page = await store.events({ key, after: events.at(-1)?.seq ?? 0, limit: replayLimitMax });
    events.push(...(page?.events ?? []));
    if (page === null || page.complete || page.events.length === 0) return events;
  }
}
