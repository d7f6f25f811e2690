/** Whether a file is still the one that it was, without reading it. */
import { statSync } from 'node:fs';

/**
 * Device, inode, size and times of what a path leads to, which change when it is replaced or written; `-` where nothing
 * is there.
 */
export function fileStamp(path: string): string {
  const facts = statSync(path, { bigint: true, throwIfNoEntry: false });
  return facts === undefined ? '-' : [facts.dev, facts.ino, facts.size, facts.mtimeNs, facts.ctimeNs].join(':');
}
