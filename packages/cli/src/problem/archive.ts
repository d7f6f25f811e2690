/**
 * Reads the wanted files of a zip archive into memory. The archive's statements about itself are checked before and during
 * unpacking.
 */
import { buffer } from 'node:stream/consumers';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { UsageError } from '../failures/usage-error.ts';

export interface ArchiveBounds {
  readonly files: number;
  readonly depth: number;
  readonly fileBytes: number;
  readonly totalBytes: number;
}

export interface ArchiveOptions extends ArchiveBounds {
  /** Whether the file at this path in the package is read. */
  readonly isWanted: (path: string) => boolean;
}

/** @throws UsageError in one line */
export async function readArchive(path: string, options: ArchiveOptions): Promise<Map<string, Buffer>> {
  try {
    // The library refuses absolute names, names with `..` or a backslash, and content whose size differs from the stated size.
    const zip = await openPromise(path, { strictFileNames: true, validateEntrySizes: true, autoClose: false });
    try {
      return await readEntries(zip, options);
    } finally {
      zip.close();
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${path} cannot be read as a zip archive: ${(error as Error).message}`, { cause: error });
  }
}

async function readEntries(zip: ZipFile, options: ArchiveOptions): Promise<Map<string, Buffer>> {
  const { files: filesMax, isWanted } = options;
  if (zip.entryCount > filesMax) throw new UsageError(`the archive has more than ${filesMax} files`);
  const entries: Entry[] = [];
  for await (const entry of zip.eachEntry()) if (!entry.fileName.endsWith('/')) entries.push(entry);
  const top = topOf(entries.map(({ fileName }) => fileName));
  const files = new Map<string, Buffer>();
  let left = options.totalBytes;
  for (const entry of entries) {
    const name = entry.fileName.slice(top.length);
    if (!isWanted(name)) continue;
    if (files.has(name)) throw new UsageError(`the archive has ${name} twice`);
    left -= entry.uncompressedSize;
    checkEntry(entry, { ...options, totalLeft: left });
    files.set(name, await buffer(await zip.openReadStreamPromise(entry)));
  }
  return files;
}

/** The one directory that contains all files, with a slash at its end; empty if `problem.yaml` is at the top. */
function topOf(names: readonly string[]): string {
  const found = names.find((name) => /^([^/]+\/)?problem\.yaml$/.test(name));
  return found === undefined ? '' : found.slice(0, -'problem.yaml'.length);
}

const UNIX = 3;
const TYPE = 0o170000;
const PLAIN = 0o100000;

function checkEntry(
  entry: Entry,
  { fileBytes, depth, totalLeft }: ArchiveBounds & { readonly totalLeft: number },
): void {
  const { fileName, uncompressedSize, versionMadeBy, externalFileAttributes } = entry;
  const type = versionMadeBy >> 8 === UNIX ? (externalFileAttributes >>> 16) & TYPE : PLAIN;
  if (type !== PLAIN && type !== 0)
    throw new UsageError(`${fileName} is a link or a device: an archive has plain files`);
  if (fileName.split('/').length > depth + 1) throw new UsageError(`${fileName} is too deep for a package`);
  if (uncompressedSize > fileBytes) {
    throw new UsageError(`${fileName} has ${uncompressedSize} bytes; at most ${fileBytes} are read`);
  }
  if (totalLeft < 0) throw new UsageError(`the archive unpacks to more bytes than a package may have`);
}
