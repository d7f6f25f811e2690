/**
 * Reads an exported job from an untrusted directory: only plain files with the names and sizes of an export. Each is opened once,
 * and no link is followed. docs/VERIFYING.md, the export directory.
 */
import { closeSync, constants, type Dirent, fstatSync, opendirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import {
  EXPORT_FILES_READ_WHOLE,
  ExportBounds,
  exportFilesMax,
  type FileDigest,
  runningSha256,
} from '@vouchbox/evidence';
import { type ExportedJob, type ExportFiles, type ExportProblem, notAnExport, parseExport } from './exported-job.ts';
import { piecesOf } from './read-file.ts';
import { UsageError } from './usage-error.ts';

/** The most entries that are read. Paths in an export are not deep, so this covers every file and all its directories. */
const entriesMax = 16 * exportFilesMax;

/** Reads a directory that holds exactly what its manifest lists. A directory that cannot be read causes a `UsageError`. */
export function readExportDirectory(directory: string): ExportedJob | ExportProblem {
  return parseExport(readExportFiles(directory));
}

/** Reads the files of an export without checking them. A directory that cannot be read causes a `UsageError`. */
export function readExportFiles(directory: string): ExportFiles | ExportProblem {
  try {
    return readTree(directory);
  } catch (error) {
    throw unreadable(directory, error);
  }
}

/** The error for a path that is no readable directory. It may be the archive or the page in which an export came. */
export function unreadable(directory: string, error: unknown): UsageError {
  const { code, message } = error as NodeJS.ErrnoException;
  const why =
    code === 'ENOTDIR' ? 'it is a file; unpack the archive, or give the directory that has the export' : message;
  return new UsageError(`${directory} cannot be read: ${why}`, { cause: error });
}

type Content = Uint8Array<ArrayBuffer> | FileDigest;

/** Every file in the directory, keyed by its relative path. */
function readTree(directory: string): ExportFiles | ExportProblem {
  const files = new Map<string, Content>();
  const bounds = new ExportBounds();
  const waiting = [''];
  let entries = 0;
  for (let within = waiting.pop(); within !== undefined; within = waiting.pop()) {
    for (const entry of entriesOf(join(directory, within))) {
      if (++entries > entriesMax) return notAnExport(`there are more than ${entriesMax} files and directories`);
      const path = within === '' ? entry.name : `${within}/${entry.name}`;
      if (isDirectoryOfAnExport(path, entry)) {
        waiting.push(path);
        continue;
      }
      const content = entry.isFile() ? readPlainFile(join(directory, path), { path, bounds }) : 'is not a plain file';
      if (typeof content === 'string') return notAnExport(`${path} ${content}`);
      files.set(path, content);
    }
  }
  return files;
}

/** The entries of a directory, read one at a time: a hostile directory may have millions of them. */
function* entriesOf(directory: string): Generator<Dirent, void> {
  const listing = opendirSync(directory);
  try {
    for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) yield entry;
  } finally {
    listing.closeSync();
  }
}

/** Whether an entry is a directory that an export may have: only input and output are in directories. */
function isDirectoryOfAnExport(path: string, entry: Dirent): boolean {
  return entry.isDirectory() && /^(input|output)(\/|$)/.test(path);
}

interface Place {
  /** The path within the export. */
  readonly path: string;
  readonly bounds: ExportBounds;
}

/** A file's content, or what is wrong with the file. It is read up to the size that it had when it was opened. */
function readPlainFile(file: string, { path, bounds }: Place): Content | string {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile()) return 'is not a plain file';
    return bounds.add(path, status.size) ?? readOpen(descriptor, { path, size_bytes: status.size });
  } finally {
    closeSync(descriptor);
  }
}

function readOpen(
  descriptor: number,
  { path, size_bytes }: { readonly path: string; readonly size_bytes: number },
): Content {
  const kept = EXPORT_FILES_READ_WHOLE.has(path) ? new Uint8Array(size_bytes) : null;
  const running = runningSha256();
  let total = 0;
  for (const piece of piecesOf(descriptor)) {
    if (total + piece.length > size_bytes) throw changed(path);
    kept?.set(piece, total);
    running.update(piece);
    total += piece.length;
  }
  if (total !== size_bytes) throw changed(path);
  return kept ?? { size_bytes, sha256: running.hex() };
}

function changed(path: string): Error {
  return new Error(`${path} was changed while it was read`);
}
