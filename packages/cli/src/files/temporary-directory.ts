/** Where a command keeps files until it ends. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandFailure } from '../failures/command-failure.ts';

/** Makes a new directory. The caller must remove it. @throws CommandFailure if it cannot be made */
export function temporaryDirectory(prefix: string): string {
  try {
    return mkdtempSync(join(tmpdir(), prefix));
  } catch (error) {
    const problem = `nothing can be stored in ${tmpdir()}, which TMPDIR names: ${(error as Error).message}`;
    throw new CommandFailure(problem, { cause: error });
  }
}
