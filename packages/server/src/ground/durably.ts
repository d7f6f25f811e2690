/** Files that are still there after a power cut. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Writes a new file and syncs it. Its name is durable once its directory is synced. Throws if the file exists. */
export function writeDurably(path: string, text: string, mode: number): void {
  const descriptor = openSync(path, 'wx', mode);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Replaces a file. A crash leaves the old or the new file; the new one is durable when this returns. */
export function replaceDurably(path: string, text: string, mode: number): void {
  const fresh = `${path}.new`;
  rmSync(fresh, { force: true });
  writeDurably(fresh, text, mode);
  renameSync(fresh, path);
  syncDirectory(dirname(path));
}

/** Makes the content of an existing file durable. */
export function syncFile(path: string): void {
  sync(path, 'r+');
}

/** Makes the names in a directory durable, which syncing the files does not do. fsync(2). */
export function syncDirectory(path: string): void {
  sync(path, 'r');
}

function sync(path: string, flags: 'r' | 'r+'): void {
  const descriptor = openSync(path, flags);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
