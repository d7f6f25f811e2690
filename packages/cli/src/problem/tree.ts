/** A problem's files, from a directory or an archive. Their names, links, numbers and sizes are not trusted. */
import { constants } from 'node:fs';
import { open, readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, sep } from 'node:path';
import { UsageError } from '../failures/usage-error.ts';
import { readArchive } from './archive.ts';

export interface ProblemTree {
  /** The sorted paths of all files, with slashes between names. */
  readonly paths: readonly string[];
  /** The text of a file. @throws UsageError if the file is missing, too large, or not UTF-8 */
  text(path: string): Promise<string>;
}

/** The limits of a package. A file may be as large as an input file of a job. */
export const TREE_BOUNDS = {
  files: 20_000,
  depth: 8,
  fileBytes: 64 * 1024 * 1024,
  totalBytes: 512 * 1024 * 1024,
} as const;

/** The parts of a package that are read. Solutions, statements and attachments can be large and are not read. */
const READ =
  /^(problem\.yaml|\.timelimit|domjudge-problem\.ini|(data|include|input_validators|input_format_validators|output_validators?)(\/.*)?)$/;

/** @throws UsageError that names the file and the bound */
export async function openTree(path: string): Promise<ProblemTree> {
  const isArchive = /\.(kpp|zip)$/.test(path) && (await statOf(path)).isFile();
  return isArchive ? await archiveTree(path) : await directoryTree(path);
}

async function archiveTree(path: string): Promise<ProblemTree> {
  const files = await readArchive(path, { isWanted: (name) => READ.test(name), ...TREE_BOUNDS });
  return {
    paths: [...files.keys()].sort(),
    text: async (name) => decode(files.get(name) ?? missing(path, name), name),
  };
}

async function directoryTree(directory: string): Promise<ProblemTree> {
  const root = await realpath(directory).catch((error: Error) => refuse(directory, error));
  const files = new Map<string, string>();
  await walk({ root, at: root, prefix: '', files });
  let left: number = TREE_BOUNDS.totalBytes;
  return {
    paths: [...files.keys()].sort(),
    async text(name) {
      const bytes = await readRegular(files.get(name) ?? missing(directory, name), name);
      left -= bytes.length;
      if (left < 0) throw new UsageError(`${directory} has more than ${TREE_BOUNDS.totalBytes} bytes of tests`);
      return decode(bytes, name);
    },
  };
}

interface Walk {
  readonly root: string;
  /** The real path of the directory. */
  readonly at: string;
  readonly prefix: string;
  /** Real paths, keyed by the paths in the package. */
  readonly files: Map<string, string>;
}

/** Lists a directory's files. A link may lead to another file in the package, so that two groups share it, but not outside. */
async function walk({ root, at, prefix, files }: Walk): Promise<void> {
  if (prefix.split('/').length > TREE_BOUNDS.depth) throw new UsageError(`${prefix} is too deep for a package`);
  for (const name of (await readdir(at)).sort()) {
    const path = `${prefix}${name}`;
    if (!READ.test(path)) continue;
    const real = await realpath(join(at, name)).catch((error: Error) => refuse(path, error));
    if (!real.startsWith(root + sep)) throw new UsageError(`${path} is a link out of the package`);
    if ((await statOf(real)).isDirectory()) await walk({ root, at: real, prefix: `${path}/`, files });
    else files.set(path, real);
    if (files.size > TREE_BOUNDS.files) throw new UsageError(`the package has more than ${TREE_BOUNDS.files} files`);
  }
}

/** The text of a file outside packages. The file may be a link. @throws UsageError that names the file */
export async function plainText(file: string): Promise<string> {
  const real = await realpath(file).catch((error: Error) => refuse(file, error));
  return decode(await readRegular(real, file), file);
}

/** Reads a plain file. Refuses a device or a pipe, and does not follow the path if it has become a link. */
async function readRegular(real: string, name: string): Promise<Buffer> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(real, flags).catch((error: Error) => refuse(name, error));
  try {
    const { size } = await file
      .stat()
      .then((is) => (is.isFile() ? is : refuse(name, new Error('it is not a plain file'))));
    if (size > TREE_BOUNDS.fileBytes)
      throw new UsageError(`${name} has ${size} bytes; at most ${TREE_BOUNDS.fileBytes} are read`);
    const bytes = Buffer.alloc(size);
    const { bytesRead } = await file.read(bytes, 0, size, 0);
    return bytes.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function statOf(path: string) {
  return await stat(path).catch((error: Error) => refuse(path, error));
}

function decode(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new UsageError(`${name} cannot be read as UTF-8 text: ${(error as Error).message}`, { cause: error });
  }
}

function missing(path: string, name: string): never {
  throw new UsageError(`${basename(path)} has no ${name}`);
}

function refuse(path: string, error: Error): never {
  throw new UsageError(`${path} cannot be read: ${error.message}`, { cause: error });
}
