/** A directory of files that is written whole or not at all. */
import { chmod, mkdir, mkdtemp, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CommandFailure } from '../failures/command-failure.ts';
import { UsageError } from '../failures/usage-error.ts';

/**
 * It has a temporary name until it is whole. Only what was made here is removed.
 * @param files by their paths below the directory
 * @throws CommandFailure before anything is made, for a path that could lead out of it
 */
export async function writeDirectory(target: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const stray = [...files.keys()].find((path) => !isBelow(path));
  if (stray !== undefined) throw new CommandFailure(`${target} was not written: ${stray} is not a path below it`);
  await makeNew(target);
  const partial = await mkdtemp(`${target}.partial-`);
  try {
    for (const [path, bytes] of files) {
      await mkdir(join(partial, dirname(path)), { recursive: true });
      await writeFile(join(partial, path), bytes, { flag: 'wx' });
    }
    await chmod(partial, (await stat(target)).mode);
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    // It is empty, unless somebody has written into it since.
    await rmdir(target).catch(() => {});
    throw new CommandFailure(`${target} could not be written: ${(error as Error).message}`, { cause: error });
  }
}

/** Before work that ends in such a directory: refuses a name that cannot be one. @throws UsageError */
export async function checkNew(target: string): Promise<void> {
  if (await stat(target).catch(() => null)) throw taken(target);
  const parent = await stat(dirname(target)).catch(() => null);
  if (!parent?.isDirectory()) throw new UsageError(`${target} cannot be made: ${dirname(target)} is not a directory`);
}

function taken(target: string): UsageError {
  return new UsageError(`${target} exists already; name another with --output`);
}

/** Relative, and spelled in the one way that cannot mean another place. */
function isBelow(path: string): boolean {
  return path.split('/').every((part) => !['', '.', '..'].includes(part)) && !/[\\\0]/.test(path);
}

/** A rename can replace an empty directory, but no other. */
async function makeNew(target: string): Promise<void> {
  try {
    await mkdir(target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === 'EEXIST' ? taken(target) : new UsageError(`${target} cannot be made: ${code}`);
  }
}
