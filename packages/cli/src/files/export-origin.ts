/** Where a job's export comes from, and how its files are written to a directory. docs/VERIFYING.md. */
import {
  type ExportChoice,
  type ExportContent,
  ExportFailure,
  type ExportSource,
  exportFiles,
  type FileDigest,
} from '@vouchbox/evidence';
import { inputsOf, type Receipt } from '@vouchbox/protocol';
import { WrongAnswer } from '../failures/command-failure.ts';
import type { NewDirectory } from './new-directory.ts';

/** A job that can be exported. Its uploaded files have up to 64 MiB in total, so they are read one at a time, in pieces. */
export interface ExportOrigin {
  /** The source without the job's uploaded files. */
  readonly source: ExportSource;
  /**
   * Gives the uploaded file of this name, `sha256:…`, to a reader. If the file breaks off, the reader is called again with the
   * whole file. Null if the file is no longer stored.
   */
  readonly readBlob: (blob: string, read: BlobReader) => Promise<FileDigest | null>;
  /** The proof that the log contains the envelope. Fails if the log does not contain the envelope. */
  readonly logProof: () => Promise<Uint8Array>;
  /** The job's signed promise. Fails if the job has none. */
  readonly promise: () => Promise<Uint8Array>;
  /** The envelope of the canary that the job names. Fails if the file does not exist. */
  readonly canary: () => Promise<Uint8Array>;
}

/** Takes a file in pieces, and returns its size and digest. */
export type BlobReader = (pieces: AsyncIterable<Uint8Array>) => Promise<FileDigest>;

/** An export that was written, and the parts that it lacks. */
export interface Exported {
  /** Paths of uploaded files that are missing because they are no longer stored. The receipt has their digests. */
  readonly missing: readonly string[];
  /** The path of every file in the export. */
  readonly files: readonly string[];
}

/**
 * Writes every file of the export below a prefix. The manifest is last: without it, a directory does not look like an export.
 * @throws WrongAnswer if the service's files cannot be a job's export
 */
export async function writeExport(
  directory: NewDirectory,
  { source, readBlob }: Omit<ExportOrigin, 'logProof' | 'promise' | 'canary'>,
  { prefix = '', ...choice }: ExportChoice & { readonly prefix?: string },
): Promise<Exported> {
  const found = await readUploads({ source, readBlob }, choice, (path, pieces) =>
    directory.write(`${prefix}${path}`, pieces),
  );
  const all = exportFilesOf({ ...source, blobs: found.blobs }, choice);
  const [manifest, ...files] = all;
  for (const [path, content] of [...files, ...(manifest === undefined ? [] : [manifest])]) {
    if (content instanceof Uint8Array) await directory.write(`${prefix}${path}`, content);
  }
  return { missing: found.missing, files: [...all.keys()] };
}

export interface Uploads extends Pick<Exported, 'missing'> {
  /** The size and digest of each stored upload that was read, keyed by its `sha256:…`. */
  readonly blobs: ReadonlyMap<string, FileDigest>;
}

/** Gives each uploaded file of the export to a reader, after checking that an input file can have the upload's path. */
export async function readUploads(
  { source, readBlob }: Omit<ExportOrigin, 'logProof' | 'promise' | 'canary'>,
  choice: ExportChoice,
  read: (path: string, pieces: AsyncIterable<Uint8Array>) => Promise<FileDigest>,
): Promise<Uploads> {
  const blobs = new Map<string, FileDigest>();
  const missing: string[] = [];
  for (const [path, content] of exportFilesOf({ ...source, blobs: namedBlobs(source) }, choice)) {
    if (content instanceof Uint8Array) continue;
    const blob = `sha256:${content.sha256}`;
    const found = await readBlob(blob, (pieces) => read(path, pieces));
    if (found === null) missing.push(path);
    else if (found.sha256 === content.sha256) blobs.set(blob, found);
    else throw new WrongAnswer(`the stored content of ${blob} has another digest`);
  }
  return { blobs, missing };
}

/** Every file of the export by its path, the manifest first. A problem is thrown as a failure that the command shows. */
export function exportFilesOf(source: ExportSource, choice: ExportChoice): Map<string, ExportContent> {
  try {
    return exportFiles(source, choice);
  } catch (error) {
    if (error instanceof ExportFailure) throw new WrongAnswer(error.message, { cause: error });
    throw error;
  }
}

/** Every file that the job names only by its digest, even if it is not stored. A file's size is known only once it is read. */
function namedBlobs({ requested_spec, receipt_json }: ExportSource): Map<string, FileDigest> {
  const { large_outputs = [] } = (JSON.parse(receipt_json) ?? {}) as Partial<Receipt>;
  const named = [
    ...inputsOf(requested_spec).flatMap((file) => ('blob' in file ? [file.blob] : [])),
    ...large_outputs.map(({ sha256 }) => `sha256:${sha256}`),
  ];
  return new Map(named.map((blob) => [blob, { size_bytes: 0, sha256: blob.replace(/^sha256:/, '') }]));
}
