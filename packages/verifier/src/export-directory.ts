/**
 * Reads an exported job from an untrusted directory: only plain files with the names and sizes of an export, never
 * through a link, each opened once. docs/VERIFYING.md, the export directory.
 */
import { closeSync, constants, type Dirent, fstatSync, opendirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { exportedFileBytesMax, exportFilesMax } from '@vouchbox/evidence';
import { type ExportedJob, type ExportFiles, type ExportProblem, parseExport } from './exported-job.ts';
import { readDescriptor } from './read-file.ts';
import { UsageError } from './usage-error.ts';

/** A file and each directory above it; paths of the contract are not deep. */
const entriesMax = 16 * exportFilesMax;

/** Reads a directory that holds exactly what its manifest lists. A directory that cannot be read is a `UsageError`. */
export function readExportDirectory(directory: string): ExportedJob | ExportProblem {
  const files = readExportFiles(directory);
  return 'problem' in files ? files : parseExport(files);
}

/** Reads the files of an export, which nothing has checked yet. A directory that cannot be read is a `UsageError`. */
export function readExportFiles(directory: string): ExportFiles | ExportProblem {
  try {
    return readTree(directory);
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
    for (const entry of entriesOf(join(directory, within))) {
      if (++entries > entriesMax) return { problem: `there are more than ${entriesMax} files and directories` };
      const path = within === '' ? entry.name : `${within}/${entry.name}`;
      const problem = entry.isDirectory() ? void waiting.push(path) : readEntry({ directory, path, entry, files });
      if (problem) return { problem: `${path} ${problem}` };
    }
  }
  return files;
}

/** The entries of a directory, read one at a time: a hostile one may have millions. */
function* entriesOf(directory: string): Generator<Dirent, void> {
  const listing = opendirSync(directory);
  try {
    for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) yield entry;
  } finally {
    listing.closeSync();
  }
}

interface Place {
  readonly directory: string;
  readonly path: string;
  readonly entry: Dirent;
  readonly files: Tree;
}

/** Adds a file's bytes, or says what is wrong with it. */
function readEntry({ directory, path, entry, files }: Place): string | null {
  if (!entry.isFile()) return 'is not a plain file';
  const bytesMax = exportedFileBytesMax(path);
  if (bytesMax === null) return 'is not a file of an export';
  if (files.size >= exportFilesMax) return `is one file more than the ${exportFilesMax} an export may have`;
  const bytes = readPlainFile(join(directory, path), bytesMax);
  if (bytes === null) return `is not a plain file of at most ${bytesMax} bytes`;
  files.set(path, bytes);
  return null;
}

/** Null unless it is a plain file of at most this many bytes. */
function readPlainFile(path: string, bytesMax: number): Uint8Array<ArrayBuffer> | null {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return fstatSync(descriptor).isFile() ? readDescriptor(descriptor, bytesMax) : null;
  } finally {
    closeSync(descriptor);
  }
}
