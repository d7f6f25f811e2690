/** Writes what a command made. An existing file may be the evidence itself, so it is never overwritten. */
import { writeFileSync } from 'node:fs';
import type { Report } from './report.ts';
import { UsageError } from './usage-error.ts';

/** The report on the text that was made, and the text to print: null if the text was refused or went to a file. */
export interface Made {
  readonly report: Report;
  readonly text: string | null;
}

/** Writes the text to a new file, or returns the text if no file is named. */
export function made(report: Report, text: string, output: string | undefined): Made {
  if (output === undefined) return { report, text };
  try {
    writeFileSync(output, text, { flag: 'wx' });
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw new UsageError(
      isTaken
        ? `${output} exists already; name another with --output`
        : `${output} cannot be written: ${(error as Error).message}`,
      { cause: error },
    );
  }
  return { report, text: null };
}
