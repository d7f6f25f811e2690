/** The digest of a file of the host. */
import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, readSync } from 'node:fs';

const { O_NOFOLLOW, O_RDONLY } = constants;
/** One buffer for the reads of all files: a tree has tens of thousands of small files. */
const buffer = Buffer.alloc(128 * 1024);

/** SHA-256 of a regular file's content. */
export function hashFile(path: string): string {
  const file = openSync(path, O_RDONLY | O_NOFOLLOW);
  try {
    const hash = createHash('sha256');
    for (let count = readSync(file, buffer); count > 0; count = readSync(file, buffer)) {
      hash.update(buffer.subarray(0, count));
    }
    return hash.digest('hex');
  } finally {
    closeSync(file);
  }
}
