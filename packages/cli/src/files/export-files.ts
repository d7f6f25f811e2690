/** The files of an exported job, with failures as the command shows them. docs/VERIFYING.md. */
import { type ExportChoice, ExportFailure, type ExportSource, exportFiles as filesOf } from '@vouchbox/evidence';
import { CommandFailure } from '../failures/command-failure.ts';

export type { ExportSource } from '@vouchbox/evidence';

/**
 * Every file of the export by its path, the manifest first.
 *
 * @throws CommandFailure if the job has no receipt, or a file has a path that no job's file can have
 */
export function exportFiles(source: ExportSource, choice: ExportChoice): Map<string, Uint8Array> {
  try {
    return filesOf(source, choice);
  } catch (error) {
    if (error instanceof ExportFailure) throw new CommandFailure(error.message, { cause: error });
    throw error;
  }
}
