/**
 * Reads an exported job from an untrusted directory: only plain files with the names and sizes of an export, never
 * through a link, each opened once. docs/VERIFYING.md, the export directory.
 */
import { closeSync, constants, type Dirent, fstatSync, opendirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import {
  EXPORT_MANIFEST,
  type ExportManifest,
  exportedFileBytesMax,
  exportFilesMax,
  readExportManifest,
  sha256Hex,
} from '@vouchbox/evidence';
import { readDescriptor } from './read-file.ts';
import { UsageError } from './usage-error.ts';

export interface ExportedJob {
  readonly manifest: ExportManifest;
  /** The bytes of every listed file, by path. */
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

export interface ExportProblem {
  readonly problem: string;
}

/** A file and each directory above it; paths of the contract are not deep. */
const entriesMax = 16 * exportFilesMax;

/** Reads a directory that holds exactly what its manifest lists. A directory that cannot be read is a `UsageError`. */
export function readExportDirectory(directory: string): ExportedJob | ExportProblem {
  try {
    const files = readTree(directory);
    if ('problem' in files) return files;
    const manifestBytes = files.get(EXPORT_MANIFEST);
    if (manifestBytes === undefined) return { problem: `there is no ${EXPORT_MANIFEST}` };
    files.delete(EXPORT_MANIFEST);
    const result = readExportManifest(manifestBytes);
    if (result.kind === 'refused') return { problem: `${EXPORT_MANIFEST} is refused: ${result.reason}` };
    const problem = listingProblem(result.manifest, files);
    return problem === null ? { manifest: result.manifest, files } : { problem };
  } catch (error) {
    throw new UsageError(`${directory} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

type Tree = Map<string, Uint8Array<ArrayBuffer>>;

/** Every file of the directory, by its relative path. */
function readTree(directory: string): Tree | ExportProblem {
  const files: Tree = new Map();
  const waiting = [''];
  let entries = 0;
  for (let within = waiting.pop(); within !== undefined; within = waiting.pop()) {
    using listing = opendirSync(join(directory, within));
    for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) {
      if (++entries > entriesMax) return { problem: `there are more than ${entriesMax} files and directories` };
      const path = within === '' ? entry.name : `${within}/${entry.name}`;
      const problem = entry.isDirectory() ? void waiting.push(path) : readEntry({ directory, path, entry, files });
      if (problem) return { problem: `${path} ${problem}` };
    }
  }
  return files;
}

interface Place {
  readonly directory: string;
  readonly path: string;
  readonly entry: Dirent;
  readonly files: Tree;
}

/** Adds a file's bytes, or says what is wrong with it. */
function readEntry({ directory, path, entry, files }: Place): string | null {
  if (!entry.isFile()) return 'is no plain file';
  const bytesMax = exportedFileBytesMax(path);
  if (bytesMax === null) return 'is nothing that an export has';
  if (files.size >= exportFilesMax) return `is one file more than the ${exportFilesMax} an export may have`;
  const bytes = readPlainFile(join(directory, path), bytesMax);
  if (bytes === null) return `is no plain file of at most ${bytesMax} bytes`;
  files.set(path, bytes);
  return null;
}

/** Null if it is no plain file of at most this many bytes. */
function readPlainFile(path: string, bytesMax: number): Uint8Array<ArrayBuffer> | null {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return fstatSync(descriptor).isFile() ? readDescriptor(descriptor, bytesMax) : null;
  } finally {
    closeSync(descriptor);
  }
}

/** The first difference between the manifest and the directory. */
function listingProblem(manifest: ExportManifest, files: ReadonlyMap<string, Uint8Array>): string | null {
  for (const { path, size_bytes, sha256 } of manifest.files) {
    const bytes = files.get(path);
    if (bytes === undefined) return `${path} is listed and missing`;
    if (bytes.length !== size_bytes || sha256Hex(bytes) !== sha256) return `${path} is not as it is listed`;
  }
  const listed = new Set(manifest.files.map(({ path }) => path));
  const surplus = Array.from(files.keys()).find((path) => !listed.has(path));
  return surplus === undefined ? null : `${surplus} is not listed`;
}
