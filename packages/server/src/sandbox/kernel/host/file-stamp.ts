/** Shows whether a file changed, without reading it. */
import { statSync } from 'node:fs';

/**
 * Device, inode, size and times of the file at a path; `-` if there is none. They change when the file is replaced or written.
 */
export function fileStamp(path: string): string {
  const facts = statSync(path, { bigint: true, throwIfNoEntry: false });
  return facts === undefined ? '-' : [facts.dev, facts.ino, facts.size, facts.mtimeNs, facts.ctimeNs].join(':');
}
