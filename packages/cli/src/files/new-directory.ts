/** A directory of files that is written whole or not at all. */
import { chmod, type FileHandle, mkdir, mkdtemp, open, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type FileDigest, runningSha256 } from '@vouchbox/evidence';
import { CommandFailure } from '../failures/command-failure.ts';
import { UsageError } from '../failures/usage-error.ts';
import { taken } from './new-file.ts';

/** A new directory. It has a temporary name until it is complete. */
export interface NewDirectory {
  /**
   * Writes a file that arrives at once or in pieces, and returns its size and digest. If the pieces break off, no file is left.
   * @throws what the pieces throw, and CommandFailure if the file cannot be written or its path could lead out of the directory
   */
  write(path: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<FileDigest>;
  /** Makes an empty directory. Files may be added to it later. */
  makeDirectory(path: string): Promise<unknown>;
}

/**
 * Makes a directory. It has a temporary name until `fill` has succeeded. Only files made here are ever removed.
 * @throws UsageError if the directory exists or cannot be made
 */
export async function writeDirectory<Result>(
  target: string,
  fill: (directory: NewDirectory) => Promise<Result>,
): Promise<Result> {
  await makeNew(target);
  try {
    return await fillBeside(target, fill, (partial) => rename(partial, target));
  } catch (error) {
    // The directory is still empty unless somebody else has written into it.
    await rmdir(target).catch(() => {});
    throw error;
  }
}

/** Like `writeDirectory`, but replaces an existing directory. The old directory stays as it is until the new one is whole. */
export async function replaceDirectory<Result>(
  target: string,
  fill: (directory: NewDirectory) => Promise<Result>,
): Promise<Result> {
  let earlier = '';
  const filled = await fillBeside(target, fill, async (partial) => {
    earlier = await exchanged(target, partial);
  });
  await rm(earlier, { recursive: true }).catch((cause: Error) => {
    const left = `the earlier one could not be removed and is now ${earlier}: ${cause.message}`;
    throw new CommandFailure(`${target} is written, but ${left}`, { cause });
  });
  return filled;
}

/** Puts a new directory in the place of an existing one, and returns where the existing one is now. */
async function exchanged(target: string, partial: string): Promise<string> {
  const earlier = await mkdtemp(`${target}.earlier-`);
  try {
    await rename(target, earlier);
  } catch (error) {
    await rmdir(earlier);
    throw error;
  }
  try {
    await rename(partial, target);
  } catch (error) {
    await rename(earlier, target);
    throw error;
  }
  return earlier;
}

/** Fills a new directory beside the existing one, and then gives it the mode and the place of the existing one. */
async function fillBeside<Result>(
  target: string,
  fill: (directory: NewDirectory) => Promise<Result>,
  place: (partial: string) => Promise<void>,
): Promise<Result> {
  const here: Here = (work) => work.catch((error: unknown) => Promise.reject(unwritten(target, error)));
  const partial = await here(mkdtemp(`${target}.partial-`));
  try {
    const filled = await fill(newDirectory(partial, here));
    await here(chmod(partial, (await here(stat(target))).mode));
    await here(place(partial));
    return filled;
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

/** Checks that a directory of this name can be made. Call this before the work whose results go there. @throws UsageError */
export async function checkNew(target: string): Promise<void> {
  if (await stat(target).catch(() => null)) throw taken(target, '--output');
  const parent = await stat(dirname(target)).catch(() => null);
  if (!parent?.isDirectory()) throw new UsageError(`${target} cannot be made: ${dirname(target)} is not a directory`);
}

/** Whether the path is relative and, as it is spelled, can only mean a place below the directory. */
function isBelow(path: string): boolean {
  return path.split('/').every((part) => !['', '.', '..'].includes(part)) && !/[\\\0]/.test(path);
}

/** Turns a failure of the file system into a failure of the command. An error from a file's pieces is passed on unchanged. */
type Here = <T>(work: Promise<T>) => Promise<T>;

function newDirectory(root: string, here: Here): NewDirectory {
  return {
    makeDirectory: (path) => here(mkdir(join(root, path), { recursive: true })),
    async write(path, content) {
      if (!isBelow(path)) throw new CommandFailure(`nothing was written: ${path} is not a path below the directory`);
      const pieces = content instanceof Uint8Array ? [content].values() : content[Symbol.asyncIterator]();
      // The file is made only after its first piece has arrived.
      const first = await pieces.next();
      const file = join(root, path);
      await here(mkdir(dirname(file), { recursive: true }));
      const handle = await here(open(file, 'wx'));
      try {
        await using _closed = handle;
        return await writeAll(handle, { first, pieces }, here);
      } catch (error) {
        await rm(file, { force: true });
        throw error;
      }
    },
  };
}

type Pieces = Iterator<Uint8Array> | AsyncIterator<Uint8Array>;

async function writeAll(
  handle: FileHandle,
  { first, pieces }: { readonly first: IteratorResult<Uint8Array>; readonly pieces: Pieces },
  here: Here,
): Promise<FileDigest> {
  const running = runningSha256();
  let size_bytes = 0;
  try {
    for (let piece = first; !piece.done; piece = await pieces.next()) {
      await here(handle.writeFile(piece.value));
      running.update(piece.value);
      size_bytes += piece.value.length;
    }
  } finally {
    await pieces.return?.();
  }
  return { size_bytes, sha256: running.hex() };
}

function unwritten(target: string, cause: unknown): CommandFailure {
  return new CommandFailure(`${target} could not be written: ${(cause as Error).message}`, { cause });
}

/** Makes an empty directory, the only kind of directory that a rename can replace. */
async function makeNew(target: string): Promise<void> {
  try {
    await mkdir(target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === 'EEXIST' ? taken(target, '--output') : new UsageError(`${target} cannot be made: ${code}`);
  }
}
