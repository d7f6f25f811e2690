/** Waits until a job is signed, and then reads everything for the job's export from its service. */
import { setTimeout as pause } from 'node:timers/promises';
import {
  type CallOptions,
  type OutputName,
  type ServiceClient,
  ServiceFailure,
  type TransportFailure,
} from '@vouchbox/client';
import { canonicalJson, type FileDigest, historyBytesMax, parsePublicKey } from '@vouchbox/evidence';
import { type ErrorCode, inputsOf, type JobEvent } from '@vouchbox/protocol';
import { sizeText } from '@vouchbox/protocol/vocabulary';
import { WrongAnswer } from './failures/command-failure.ts';
import { UsageError } from './failures/usage-error.ts';
import type { BlobReader, ExportOrigin } from './files/export-origin.ts';
import { readWhole } from './files/whole-blob.ts';

/** How many times to ask for the signature of a job that has just ended. */
const signatureTries = 30;
/** The longest pause between two requests, even if the service asks for a longer one. */
const pauseSecondsMax = 5;

interface Reading extends CallOptions {
  /** PEM texts of keys. One of them must have signed the job; if there are none, the service's current key must have. */
  readonly publicKeys: readonly string[];
}

/**
 * Reads an ended job without its uploaded files. A service names only its current key, so an older key must be given.
 * @throws UsageError if none of these keys signed the job
 */
export async function readFromService(
  job_id: string,
  client: ServiceClient,
  { publicKeys, signal }: Reading,
): Promise<ExportOrigin> {
  const call = { ...(signal && { signal }) };
  const envelope = await signedEnvelope(job_id, client, call);
  const [result, detail, folded] = [
    await client.resultArtifact(job_id, call),
    await client.detail(job_id, call),
    await client.result(job_id, call),
  ];
  const source = {
    tenant: detail.tenant,
    job_id,
    envelope,
    result_artifact: result.bytes,
    receipt_json: canonicalJson(detail.receipt ?? null),
    events: await wholeHistory(job_id, client, call),
    public_key_pem: await signerOf(detail.attestation.key_id, client, { publicKeys, call }),
    requested_spec: detail.requested_spec,
    artifacts: folded.artifacts.map(({ path, content_base64 }) => ({
      path,
      content: Buffer.from(content_base64, 'base64'),
    })),
  };
  return {
    source,
    logProof: async () => (await whenThere('log_proof_unavailable', () => client.logProof(job_id, call), call)).bytes,
    promise: async () => (await whenThere('promise_unavailable', () => client.promise(job_id, call), call)).bytes,
    canary: async () => (await client.canary(job_id, call)).bytes,
    readBlob: async (blob, read) => {
      const output = inputsOf(detail.requested_spec).find((file) => 'from' in file && file.blob === blob);
      if (output === undefined || !('from' in output)) return readBlob(client, blob, { read, call });
      return (await readOutput(client, output.from, { read, call })) ?? readBlob(client, blob, { read, call });
    },
  };
}

/** Disconnects a service that sends more than an export can contain, before it fills the memory. */
async function wholeHistory(job_id: string, client: ServiceClient, call: CallOptions): Promise<readonly JobEvent[]> {
  const events: JobEvent[] = [];
  let characters = 0;
  for await (const event of client.events(job_id, { limit: 1000, ...call })) {
    characters += JSON.stringify(event).length;
    if (characters > historyBytesMax)
      throw new WrongAnswer(
        `the history of ${job_id} is larger than ${sizeText(historyBytesMax)}, more than any job has`,
      );
    events.push(event);
  }
  return events;
}

/** A job's output; null if the job is no longer kept, or if its result lacks the file. Results leave out large outputs. */
async function readOutput(
  client: ServiceClient,
  { job_id, path }: OutputName,
  { read, call }: ReadingBlob,
): Promise<FileDigest | null> {
  try {
    const { artifacts } = await client.result(job_id, call);
    const found = artifacts.find((artifact) => artifact.path === path);
    return found === undefined ? null : await read(piecesOf(Buffer.from(found.content_base64, 'base64')));
  } catch (error) {
    if (error instanceof ServiceFailure && error.code === 'job_not_found') return null;
    throw error;
  }
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes;
}

interface ReadingBlob {
  readonly read: BlobReader;
  readonly call: CallOptions;
}

/** Reads an uploaded file; null if it is no longer stored. If the answer breaks off, the whole file is read again. */
async function readBlob(client: ServiceClient, blob: string, { read, call }: ReadingBlob): Promise<FileDigest | null> {
  const takesAgain = ({ reason }: TransportFailure) => ['network', 'timeout', 'truncated'].includes(reason);
  try {
    return await readWhole(client, blob, { ...call, read, takesAgain });
  } catch (error) {
    if (error instanceof ServiceFailure && error.code === 'blob_not_found') return null;
    throw error;
  }
}

/** The signed envelope. Signing a job takes a moment after it has ended. */
async function signedEnvelope(job_id: string, client: ServiceClient, call: CallOptions): Promise<Uint8Array> {
  return (await whenThere('attestation_unavailable', () => client.attestation(job_id, call), call)).bytes;
}

/** Repeats a request while the service says that the answer will be there soon. */
async function whenThere<Answer>(code: ErrorCode, ask: () => Promise<Answer>, call: CallOptions): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      const isEarly = error instanceof ServiceFailure && error.code === code;
      if (!isEarly || tries >= signatureTries) throw error;
      const seconds = Math.min(error.retryAfterSeconds ?? 1, pauseSecondsMax);
      await pause(seconds * 1000, undefined, { signal: call.signal });
    }
  }
}

async function signerOf(
  key_id: string | null,
  client: ServiceClient,
  { publicKeys: given, call }: Pick<Reading, 'publicKeys'> & { readonly call: CallOptions },
): Promise<string> {
  const known = given.length > 0 ? given : [(await client.publicKey(call)).public_key_pem];
  const signer = known.find((pem) => isKey(pem, key_id));
  if (signer !== undefined) return signer;
  throw new UsageError(
    given.length === 0
      ? `the job was signed with ${key_id}, which the service has replaced; give that key with --public-key`
      : `none of the given public keys signed the job; its key is ${key_id}`,
  );
}

function isKey(pem: string, key_id: string | null): boolean {
  const parsed = parsePublicKey(pem);
  return parsed.kind === 'key' && parsed.key.key_id === key_id;
}
