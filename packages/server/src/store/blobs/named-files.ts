/**
 * A submission's files by their content, however they were sent. A file that names a blob has the same size and digest as if it
 * were inline. So to receipts and idempotency keys, uploaded and inline files are the same.
 */
import { Buffer, isUtf8 } from 'node:buffer';
import { sha256Hex } from '@vouchbox/evidence';
import type { ArtifactRecord, InputFile, RequestedSpec, StoredFile, UploadedFile } from '@vouchbox/protocol';
import { fileBytesMax, filesTotalBytesMax, STDIN, stdinBytesMax } from '@vouchbox/protocol/vocabulary';
import type { StoredBlobRow } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { blob, blobPiece, useBlob } from './blobs.ts';
import { blobNameOf, blobsNamed, digestOf, isNamed, type NamedFile } from './blobs-named.ts';

/** The blobs that a submission names, keyed by the names that `blobsNamed` returns. */
export type NamedBlobs = ReadonlyMap<string, StoredBlobRow>;

/** Finds the blobs that a submission names, and counts them as used now. Null if the tenant lacks one of them. */
export async function usedBlobs(
  db: StoreDatabase,
  { tenant, files, at }: { readonly tenant: string; readonly files: readonly StoredFile[]; readonly at: string },
): Promise<NamedBlobs | null> {
  const blobs = new Map<string, StoredBlobRow>();
  for (const sha256 of blobsNamed(files)) {
    const found = await useBlob(db, { tenant, sha256, at });
    if (found === null) return null;
    blobs.set(sha256, found);
  }
  return blobs;
}

/** A receipt's facts about an input file. */
export function inputArtifact(file: StoredFile, blobs: NamedBlobs): ArtifactRecord {
  const { path } = file;
  if (!isNamed(file)) {
    const content = Buffer.from(file.content_base64, 'base64');
    return { path, size_bytes: content.length, sha256: sha256Hex(content) };
  }
  const sha256 = digestOf(file);
  const size_bytes = blobs.get(blobNameOf(file))?.size_bytes;
  if (size_bytes === undefined) throw new Error('a submission names a blob that was not looked up');
  return { path, size_bytes, sha256 };
}

/**
 * A submission's files in a form that depends only on their contents: all inline if all could have been sent inline, and
 * otherwise all by digest. Null if the tenant lacks a blob.
 */
export async function filesByContent(
  db: StoreDatabase,
  { tenant, files }: { readonly tenant: string; readonly files: RequestedSpec['files'] },
): Promise<readonly StoredFile[] | null> {
  if (!files.some(isNamed)) return files;
  const blobs = new Map<string, StoredBlobRow>();
  for (const sha256 of blobsNamed(files)) {
    const found = await blob(db, { tenant, sha256 });
    if (found === null) return null;
    blobs.set(sha256, found);
  }
  const records = files.map((file) => inputArtifact(file, blobs));
  if (!fitInline(records)) return records.map(({ path, sha256 }) => ({ path, blob: `sha256:${sha256}` }));
  const inline: InputFile[] = [];
  for (const file of files) inline.push(isNamed(file) ? await inlineFile(db, { tenant, file, blobs }) : file);
  return inline;
}

/** A specification's files by their digests alone. No blob is read. */
export function filesByDigest(files: readonly StoredFile[]): readonly StoredFile[] {
  return files.map((file) => ({ path: file.path, blob: isNamed(file) ? file.blob : `sha256:${contentDigest(file)}` }));
}

function contentDigest({ content_base64 }: InputFile): string {
  return sha256Hex(Buffer.from(content_base64, 'base64'));
}

function fitInline(records: readonly ArtifactRecord[]): boolean {
  const total = records.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  return total <= filesTotalBytesMax && records.every(({ size_bytes }) => size_bytes <= fileBytesMax);
}

type Stdin = Pick<RequestedSpec, 'stdin' | 'named_stdin'>;
/** Standard input in a form that depends only on its content: its text, or its digest written as for a file. */
type StdinForm = { readonly form: string | Pick<UploadedFile, 'blob'> | null };

/** Standard input by its content: its text if the input could have been sent as text. */
export async function stdinByContent(
  db: StoreDatabase,
  { tenant, spec: { stdin, named_stdin: named } }: { readonly tenant: string; readonly spec: Stdin },
): Promise<StdinForm | 'unavailable'> {
  if (named === undefined) return { form: stdin };
  const found = await blob(db, { tenant, sha256: blobNameOf({ path: STDIN, ...named }) });
  if (found === null) return 'unavailable';
  const bytes = found.size_bytes > stdinBytesMax ? null : await wholeBlob(db, { tenant, found });
  return { form: bytes !== null && isUtf8(bytes) ? bytes.toString() : { blob: named.blob } };
}

/** Standard input by its digest. No blob is read. */
export function stdinByDigest({ stdin, named_stdin: named }: Stdin): StdinForm {
  if (named !== undefined) return { form: { blob: named.blob } };
  return { form: stdin === null ? null : { blob: `sha256:${sha256Hex(stdin)}` } };
}

async function inlineFile(
  db: StoreDatabase,
  { tenant, file, blobs }: { readonly tenant: string; readonly file: NamedFile; readonly blobs: NamedBlobs },
): Promise<InputFile> {
  const content = await wholeBlob(db, { tenant, found: blobs.get(blobNameOf(file)) as StoredBlobRow });
  return { path: file.path, content_base64: content.toString('base64') };
}

async function wholeBlob(
  db: StoreDatabase,
  { tenant, found: { blob_id, size_bytes } }: { readonly tenant: string; readonly found: StoredBlobRow },
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (let read = 0; read < size_bytes; read += pieces.at(-1)?.length ?? 0) {
    const piece = await blobPiece(db, { tenant, blob_id, position: pieces.length });
    if (piece === null) throw new Error('a blob lacks a piece');
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
