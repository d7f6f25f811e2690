/**
 * One attested job from the store of a stopped service, for an operator who passes on its evidence. The stored bytes are checked
 * just as the service checks them before serving them, so tampered data is not exported.
 */
import { CANARY_TENANT, canaryNamedIn, type ExportSource } from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { inputsOf, replayLimitMax } from '@vouchbox/protocol/vocabulary';
import { ServiceError } from '../ground/service-error.ts';
import { artifactPieces } from '../job/artifact-content.ts';
import { blobContent } from '../job/blob-content.ts';
import { predicateIn } from '../job/canary/signed-predicate.ts';
import { logProofOfJob } from '../job/log/read-log.ts';
import { promiseBytes } from '../job/log/read-promise.ts';
import { createNudges } from '../job/nudges.ts';
import { createObjectContents, type ObjectContents } from '../job/object-contents.ts';
import { attestationProblem } from '../job/sign/attestation-problem.ts';
import { knownKeys } from '../job/sign/keys/signing-keys.ts';
import type { ExactBytes } from '../job/view/attestation.ts';
import { ObjectError } from '../objects/object-store.ts';
import { openObjectStore } from '../objects/open-object-store.ts';
import type { Config } from '../settings/config.ts';
import { isOutput } from '../store/blobs/blobs-named.ts';
import { openStore } from '../store/open-store.ts';
import type { StoredAttestation } from '../store/records/answers.ts';
import type { JobKey, StoredArtifact } from '../store/records/rows.ts';
import type { Store } from '../store/store.ts';
import { StoreError } from '../store/store-error.ts';
import { OperatorError } from './operator-error.ts';
import { requireStore } from './require-store.ts';

/** Everything that is known about an attested job. */
export interface StoredJob extends Omit<ExportSource, 'blobs'> {
  readonly artifacts: readonly StoredArtifact[];
}

/** A job, and functions that read its evidence while the store is open. */
export interface OpenStoredJob {
  readonly job: StoredJob;
  /** The pieces of the job's file with this name, a `sha256:…`. At most 64 MiB; null if the file is no longer stored. */
  readonly blob: (name: string) => Promise<AsyncIterable<Uint8Array> | null>;
  /** The proof that the log has the job. @throws OperatorError if the log lacks the job */
  readonly logProof: () => Promise<Uint8Array>;
  /** The job's signed promise. @throws OperatorError if the job has none */
  readonly promise: () => Promise<Uint8Array>;
  /** The envelope of the job's canary. @throws OperatorError if the job names no canary, or the canary is no longer kept */
  readonly canary: () => Promise<Uint8Array>;
}

/**
 * Reads a job, and keeps the store open while the job is used. If an object store is set, contents that are in it are read from
 * there.
 *
 * @throws OperatorError, with one clear line, if the store cannot be read, or lacks the job or the job's attestation
 */
export async function withStoredJob<Result>(
  key: JobKey,
  options: Pick<Config, 'dataDir' | 'databaseUrl' | 'objectStore'>,
  use: (opened: OpenStoredJob) => Promise<Result>,
): Promise<Result> {
  try {
    requireStore(options);
    await using store = await openStore(options);
    const objects = createObjectContents(await openObjectStore(options.objectStore), { error: () => undefined });
    const job = await readJob(key, { store, objects, dataDir: options.dataDir });
    return await use({
      job,
      blob: (name) => storedBlob(name, job, { store, objects }),
      logProof: () => answeredOf(key, async () => await logProofOfJob(key, { store })),
      promise: () => answeredOf(key, async () => await storedPromise(key, store, options)),
      canary: () => storedCanary(job, store),
    });
  } catch (error) {
    if (error instanceof ObjectError) throw unreadable(error, key, options);
    if (!(error instanceof StoreError)) throw error;
    const hint = error.code === 'locked' ? 'ask the running service: give --url and --key' : null;
    throw new OperatorError(error.message, { hint, cause: error });
  }
}

/** The answer that the service would give. Its refusals become errors for an operator. */
async function answeredOf({ job_id }: JobKey, ask: () => Promise<ExactBytes>): Promise<Uint8Array> {
  try {
    return (await ask()).bytes;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new OperatorError(`the evidence of ${job_id} is not complete: ${error.message}`, { cause: error });
  }
}

function storedPromise(key: JobKey, store: Store, { dataDir }: Pick<Config, 'dataDir'>): Promise<ExactBytes> {
  const keys = new Map(knownKeys(dataDir).map((known) => [known.key_id, known.pinned]));
  const { signal } = new AbortController();
  const wait = { waitSeconds: 0, signal };
  const publicKey = (key_id: string) => keys.get(key_id) ?? null;
  return promiseBytes(key, wait, { store, nudges: createNudges(), shutdown: signal, keys: { publicKey } });
}

async function storedCanary({ job_id, envelope }: StoredJob, store: Store): Promise<Uint8Array> {
  const predicate = predicateIn(envelope);
  const named = predicate === null ? null : canaryNamedIn(predicate);
  const key = { tenant: CANARY_TENANT, job_id: named?.jobId ?? '' };
  const stored = named === null ? null : await store.attestation({ key, part: 'envelope' });
  // Whoever verifies the evidence checks the canary's signature together with the job's signature.
  if (stored?.row.envelope_sha256 === named?.sha256 && stored?.isIntact) return stored.envelope;
  throw new OperatorError(`the job ${job_id} names no canary that is still kept`);
}

async function storedBlob(
  name: string,
  { tenant, requested_spec }: StoredJob,
  { store, objects }: Omit<Sources, 'dataDir'>,
): Promise<AsyncIterable<Uint8Array> | null> {
  const sha256 = name.replace(/^sha256:/, '');
  const output = inputsOf(requested_spec)
    .filter(isOutput)
    .find(({ blob }) => blob === name);
  if (output !== undefined) {
    const key = { tenant, job_id: output.from.job_id };
    const record = (await store.artifactRecords(key)).find(({ path }) => path === output.from.path);
    if (record !== undefined) return artifactPieces({ store, objects }, key, record);
  }
  const found = (await store.blob({ tenant, sha256 })) ?? (await store.largeOutputBlob({ tenant, sha256 }));
  return found === null ? null : blobContent(store, { tenant, sha256, ...found });
}

function unreadable(
  cause: ObjectError,
  { job_id }: JobKey,
  { objectStore }: Pick<Config, 'objectStore'>,
): OperatorError {
  if (objectStore !== null)
    return new OperatorError(`contents of ${job_id} cannot be read from ${objectStore.url}: ${cause.message}`, {
      cause,
    });
  return new OperatorError(`contents of ${job_id} lie in an object store, and none is set`, {
    hint: 'set SERVICE_OBJECT_STORE_URL, SERVICE_OBJECT_STORE_ACCESS_KEY and SERVICE_OBJECT_STORE_SECRET_KEY as for the service',
    cause,
  });
}

interface Sources {
  readonly store: Store;
  readonly objects: ObjectContents;
  readonly dataDir: string;
}

async function readJob(key: JobKey, { store, objects, dataDir }: Sources): Promise<StoredJob> {
  const job = await store.job(key);
  if (job?.receipt_json == null) throw new OperatorError(`no job ${key.job_id} of ${key.tenant} has ended here`);
  const stored = await store.attestation({ key, part: 'result_artifact' });
  if (stored === null) throw new OperatorError(`the job ${key.job_id} is not attested`);
  const keys = new Map(knownKeys(dataDir).map((known) => [known.key_id, known]));
  const result_artifact = await resultOf(stored, { store, objects });
  const problem = await attestationProblem(stored, key, { publicKey: (id) => keys.get(id)?.pinned ?? null });
  const signer = keys.get(stored.row.key_id);
  if (problem !== null || signer === undefined || result_artifact === null) {
    throw new OperatorError(`the attestation of ${key.job_id} differs from the one that was signed: ${problem}`, {
      hint: 'start the service, which signs it again when it is requested',
    });
  }
  return {
    ...key,
    envelope: stored.envelope,
    result_artifact,
    receipt_json: job.receipt_json,
    events: await history(store, key),
    public_key_pem: signer.public_key_pem,
    requested_spec: job.requested_spec,
    artifacts: await artifactsOf(key, { store, objects }),
  };
}

/** A job's result; null if the stored result is not the signed one. */
async function resultOf(
  { result_artifact, object, row }: StoredAttestation,
  { store, objects }: Omit<Sources, 'dataDir'>,
): Promise<Uint8Array | null> {
  if (object === null) return result_artifact;
  return await store.resultOf({ stored: await objects.read(object), row });
}

async function artifactsOf(
  key: JobKey,
  { store, objects }: Omit<Sources, 'dataDir'>,
): Promise<readonly StoredArtifact[]> {
  const artifacts: StoredArtifact[] = [];
  for (const artifact of await store.artifacts(key)) {
    const object = artifact.content.length > 0 ? null : await store.objectOfArtifact({ key, path: artifact.path });
    artifacts.push(object === null ? artifact : { ...artifact, content: await objects.read(object) });
  }
  return artifacts;
}

async function history(store: Store, key: JobKey): Promise<JobEvent[]> {
  const events: JobEvent[] = [];
  for (;;) {
    const page = await store.events({ key, after: events.at(-1)?.seq ?? 0, limit: replayLimitMax });
    events.push(...(page?.events ?? []));
    if (page === null || page.complete || page.events.length === 0) return events;
  }
}
