import { accessSync, constants } from 'node:fs';

/** Whether this process may write to a file or a directory: access(2), which follows symbolic links. */
export function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
