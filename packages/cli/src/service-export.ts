/** Reads from a service all that an export of a job has, once the job is signed. */
import { setTimeout as pause } from 'node:timers/promises';
import { type ServiceClient, ServiceFailure, type StoredSpec } from '@vouchbox/client';
import { canonicalJson, parsePublicKey } from '@vouchbox/evidence';
import { UsageError } from './failures/usage-error.ts';
import type { ExportSource } from './files/export-files.ts';

/** How long to wait for the signature of a job that just ended. */
const signatureTries = 30;
/** Whatever the service asks for. */
const pauseSecondsMax = 5;

/**
 * Reads a job that has ended. A service names its current key only; an older one must be given.
 * @throws UsageError if the key is not the one that signed
 */
export async function readFromService(
  job_id: string,
  client: ServiceClient,
  { publicKeyPem }: { readonly publicKeyPem: string | null },
): Promise<ExportSource> {
  const envelope = await signedEnvelope(job_id, client);
  const [result, detail, folded] = [
    await client.resultArtifact(job_id),
    await client.detail(job_id),
    await client.result(job_id),
  ];
  return {
    tenant: detail.tenant,
    job_id,
    envelope,
    result_artifact: result.bytes,
    receipt_json: canonicalJson(detail.receipt ?? null),
    events: await Array.fromAsync(client.events(job_id, { limit: 1000 })),
    public_key_pem: await signerOf(detail.attestation.key_id, client, publicKeyPem),
    requested_spec: detail.requested_spec,
    blobs: await uploadedFiles(detail.requested_spec, client),
    artifacts: folded.artifacts.map(({ path, content_base64 }) => ({
      path,
      content: Buffer.from(content_base64, 'base64'),
    })),
  };
}

/** The uploaded files that the submission names, without those that are not stored any more. */
async function uploadedFiles({ files = [] }: StoredSpec, client: ServiceClient): Promise<Map<string, Uint8Array>> {
  const blobs = new Map<string, Uint8Array>();
  for (const file of files) {
    if (!('blob' in file) || blobs.has(file.blob)) continue;
    const stored = await client.download(file.blob).catch((error: unknown) => {
      if (error instanceof ServiceFailure && error.code === 'blob_not_found') return null;
      throw error;
    });
    if (stored !== null) blobs.set(file.blob, stored.bytes);
  }
  return blobs;
}

/** Signing takes a moment after a job's end. */
async function signedEnvelope(job_id: string, client: ServiceClient): Promise<Uint8Array> {
  for (let tries = 1; ; tries++) {
    try {
      return (await client.attestation(job_id)).bytes;
    } catch (error) {
      const isUnsigned = error instanceof ServiceFailure && error.code === 'attestation_unavailable';
      if (!isUnsigned || tries >= signatureTries) throw error;
      await pause(Math.min(error.retryAfterSeconds ?? 1, pauseSecondsMax) * 1000);
    }
  }
}

async function signerOf(key_id: string | null, client: ServiceClient, given: string | null): Promise<string> {
  const pem = given ?? (await client.publicKey()).public_key_pem;
  const parsed = parsePublicKey(pem);
  if (parsed.kind === 'key' && parsed.key.key_id === key_id) return pem;
  throw new UsageError(
    given === null
      ? `the job was signed with ${key_id}, which is not the service's key any more; give that one with --public-key`
      : `the key of --public-key is not the key that signed the job, ${key_id}`,
  );
}
