/** A file that a command makes. An existing file may be evidence or a key, so it is never overwritten. */
import { writeFileSync } from 'node:fs';
import { UsageError } from '../failures/usage-error.ts';

/**
 * @param option the option that can give another name, if there is one
 * @throws UsageError if something has that name already, or the file cannot be made
 */
export function writeNew(file: string, content: string | Uint8Array, option?: string): void {
  try {
    writeFileSync(file, content, { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw taken(file, option);
    throw new UsageError(`${file} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}

export function taken(name: string, option?: string): UsageError {
  return new UsageError(`${name} exists already; name another${option === undefined ? '' : ` with ${option}`}`);
}
