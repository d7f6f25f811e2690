/**
 * How many files an export may have and how large they may be. Every reader of an export asks this module before it reads a file,
 * so a hostile export costs no more than the largest good one.
 */
import {
  filesTotalBytesMax,
  largeOutputsBytesMax,
  namedFilesTotalBytesMax,
  sizeText,
} from '@vouchbox/protocol/vocabulary';
import { exportedFileBytesMax, exportFilesMax } from './job-export.ts';

/** The most bytes that the files of a job may have together. Spec § Limits. */
const TOTALS = [
  { root: 'input/', bytesMax: namedFilesTotalBytesMax },
  { root: 'output/', bytesMax: filesTotalBytesMax + largeOutputsBytesMax },
] as const;

/** Counts the files of one export as a reader comes to them. */
export class ExportBounds {
  #files = 0;
  readonly #bytes = new Map<string, number>();

  /** Why an export cannot also have this file, in words that follow the file's path; null if it can. */
  add(path: string, size_bytes: number): string | null {
    const bytesMax = exportedFileBytesMax(path);
    if (bytesMax === null) return 'is not a file of an export';
    if (++this.#files > exportFilesMax) return `exceeds the ${exportFilesMax} files that an export may have`;
    if (size_bytes > bytesMax) return `is larger than ${sizeText(bytesMax)}, the most that an export may have of it`;
    const total = TOTALS.find(({ root }) => path.startsWith(root));
    if (total === undefined) return null;
    const bytes = (this.#bytes.get(total.root) ?? 0) + size_bytes;
    this.#bytes.set(total.root, bytes);
    return bytes > total.bytesMax
      ? `makes ${total.root} larger than ${sizeText(total.bytesMax)}, the most it may have`
      : null;
  }
}
