/** Writes a command's new file. An existing file may be evidence or a key, so none is ever overwritten. */
import { writeFileSync } from 'node:fs';
import { UsageError } from '../failures/usage-error.ts';

/**
 * @param option the option by which the user can give another name, if there is one
 * @throws UsageError if the name is taken or the file cannot be made
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
