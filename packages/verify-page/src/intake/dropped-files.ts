/** Finds every file that was dropped or chosen. Files in directories get their paths. File and Directory Entries API. */
import { entriesMax, IntakeProblem } from './bounds.ts';
import type { DroppedFile } from './export-files.ts';

/** The dropped files. Call this while the drop is being handled, because the entries are gone afterwards. */
export async function droppedFiles(transfer: DataTransfer): Promise<readonly DroppedFile[]> {
  const items = Array.from(transfer.items).filter(({ kind }) => kind === 'file');
  const waiting = items.map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  // An item that was not dropped from a disk has no entry.
  if (waiting.length === 0) return chosenFiles(transfer.files);
  const files: DroppedFile[] = [];
  for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
    if (files.length + waiting.length > entriesMax) throw new IntakeProblem(`These are more than ${entriesMax} files.`);
    if (entry.isDirectory) waiting.push(...(await entriesOf(entry as FileSystemDirectoryEntry)));
    else files.push({ path: entry.fullPath.replace(/^\//, ''), file: await fileOf(entry as FileSystemFileEntry) });
  }
  return files;
}

/** The chosen files. If a directory was chosen, they have paths. */
export function chosenFiles(list: FileList): readonly DroppedFile[] {
  return Array.from(list, (file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** All entries in a directory. A reader gives a few entries at a time, and an empty list at the end. */
async function entriesOf(directory: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = directory.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0 || all.length > entriesMax) return all;
    all.push(...some);
  }
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}
