/** Reads everything for a job's export from the service. A separate thread makes one file from it. */
import { type JobDetail, type OutputName, type ServiceClient, ServiceFailure } from '@vouchbox/client';
import { decodeBase64, parsePublicKey } from '@vouchbox/evidence';
import { inputsOf } from '@vouchbox/protocol/vocabulary';
import type { PinnedKey } from '../../session/pinned-keys.ts';
import { askThread, giveEvents, readSigned } from '../check/check-job.ts';
import type { SignedRecord } from '../check/check-record.ts';
import type { RecordToExport } from '../check/evidence-file.ts';

export interface EvidenceWish {
  readonly client: ServiceClient;
  readonly job_id: string;
  readonly pinned: readonly PinnedKey[];
  /** Whether the program, its input and its files are left out. */
  readonly isEvidenceOnly: boolean;
  /** The form of the file: an archive, or a page that contains an archive and checks it. */
  readonly form: 'zip' | 'html';
  readonly signal: AbortSignal;
}

export interface Evidence {
  readonly file: Blob;
  /** Files that the service no longer keeps. The receipt has their digests. */
  readonly missing: readonly string[];
}

export async function readEvidence(wish: EvidenceWish): Promise<Evidence> {
  const { client, job_id, isEvidenceOnly, form, signal } = wish;
  const [detail, page] = await Promise.all([
    client.detail(job_id, { signal }),
    form === 'html' ? verifyPage(signal) : null,
  ]);
  if (detail.receipt === undefined) throw new Error('The job has no receipt yet.');
  const signed = await readSigned(wish, detail);
  checkSigner(detail, signed);
  const { blobs, missing } = isEvidenceOnly ? NOTHING : await readNamed(detail, client, { signal });
  const record: RecordToExport = {
    ...signed,
    tenant: detail.tenant,
    job_id,
    receipt: detail.receipt as unknown as RecordToExport['receipt'],
    program: isEvidenceOnly ? 'left_out' : 'kept',
    blobs,
    page,
  };
  const answer = await askThread(signal, async (give) => {
    await giveEvents(wish, give);
    give({ kind: 'export', record });
  });
  if (answer.kind !== 'file') throw new Error('The export could not be made.');
  return { file: answer.file, missing };
}

const NOTHING: Awaited<ReturnType<typeof readNamed>> = { blobs: new Map(), missing: [] };

/** The verify page that the service serves to anybody. */
async function verifyPage(signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  const answer = await fetch('/verify', { signal });
  if (!answer.ok) throw new Error('This service does not serve the verify page. Save an archive instead.');
  return new Uint8Array(await answer.arrayBuffer());
}

/** Checks that the key in the export is the signer's. With any other key, every check of the export would fail. */
function checkSigner({ attestation }: JobDetail, { public_key_pem }: SignedRecord): void {
  const parsed = parsePublicKey(public_key_pem);
  if (parsed.kind === 'key' && parsed.key.key_id === attestation.key_id) return;
  throw new Error(
    `The job was signed with ${attestation.key_id}, which the service no longer has. Pin that key first.`,
  );
}

type Call = { readonly signal: AbortSignal };

/** The files that are known only by their digests: named inputs, and large outputs. */
async function readNamed({ requested_spec, receipt }: JobDetail, client: ServiceClient, call: Call) {
  const named = new Map<string, { readonly path: string; readonly from?: OutputName | undefined }>();
  for (const file of inputsOf(requested_spec)) {
    if ('blob' in file) named.set(file.blob, { path: file.path, from: 'from' in file ? file.from : undefined });
  }
  for (const { path, sha256 } of receipt?.large_outputs ?? []) named.set(`sha256:${sha256}`, { path });
  const blobs = new Map<string, Uint8Array>();
  const missing: string[] = [];
  for (const [blob, { path, from }] of named) {
    const bytes = (from && (await outputOf(from, client, call))) ?? (await blobOf(blob, client, call));
    if (bytes === null) missing.push(path);
    else blobs.set(blob, bytes);
  }
  return { blobs, missing };
}

/** A job's output; null if the job is no longer kept, or if its result lacks the file. Results leave out large outputs. */
async function outputOf({ job_id, path }: OutputName, client: ServiceClient, call: Call): Promise<Uint8Array | null> {
  const result = await orMissing('job_not_found', client.result(job_id, call));
  const found = result?.artifacts.find((artifact) => artifact.path === path);
  return found === undefined ? null : decodeBase64(found.content_base64);
}

async function blobOf(blob: string, client: ServiceClient, call: Call): Promise<Uint8Array | null> {
  return (await orMissing('blob_not_found', client.download(blob, call)))?.bytes ?? null;
}

async function orMissing<Answer>(code: string, asked: Promise<Answer>): Promise<Answer | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ServiceFailure && error.code === code) return null;
    throw error;
  }
}
