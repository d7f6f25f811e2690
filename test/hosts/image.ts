/** Makes an ext4 image of a directory, without a mount. mke2fs(8). */
import { execFileSync } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';

export interface ImageOptions {
  readonly tree: string;
  /** The file to write. It is sparse, so empty parts take no space. */
  readonly image: string;
  readonly megabytes: number;
}

export function makeImage({ tree, image, megabytes }: ImageOptions): void {
  writeFileSync(image, '');
  truncateSync(image, megabytes * 2 ** 20);
  execFileSync('nice', ['-n', '10', '/sbin/mkfs.ext4', '-q', '-m', '0', '-O', '^has_journal', '-d', tree, image], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}
