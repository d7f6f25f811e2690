/**
 * The empty root of every cell: mount points, links into `/usr`, and a few small files. It holds nothing of the host and
 * nothing of a job, is shared by all cells and mounted read-only in each.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const DIRECTORIES = 'dev etc/alternatives opt/svc/bin proc svc/guest svc/report tmp usr work'.split(' ');
const LINKS = ['bin', 'lib', 'lib64', 'sbin'];
/** A mount point: the interpreter is bound over it. */
const NODE = 'opt/svc/bin/node';

/** What every cell has in its `/etc`, by name: its own two users, and no network. */
export const ETC_FILES: Readonly<Record<string, string>> = {
  passwd: 'root:x:0:0:root:/:/bin/false\nrunner:x:1000:1000:runner:/tmp:/bin/bash\n',
  group: 'root:x:0:\nrunner:x:1000:\n',
  hostname: 'sandbox\n',
  hosts: '127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n',
  'resolv.conf': '',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
};

/** What a cell of the host's own system has besides, by where it leads. */
const ETC_LINKS: Readonly<Record<string, string>> = {
  localtime: '../usr/share/zoneinfo/Etc/UTC',
  'os-release': '../usr/lib/os-release',
};

/** Builds the root in `path`, which must not exist. */
export function buildRootfs(path: string): void {
  mkdirSync(path, { mode: 0o755 });
  for (const directory of DIRECTORIES) mkdirSync(join(path, directory), { recursive: true, mode: 0o755 });
  for (const link of LINKS) symlinkSync(`usr/${link}`, join(path, link));
  for (const [name, target] of Object.entries(ETC_LINKS)) symlinkSync(target, join(path, 'etc', name));
  for (const [name, content] of Object.entries(ETC_FILES))
    writeFileSync(join(path, 'etc', name), content, { mode: 0o644 });
  writeFileSync(join(path, NODE), '', { mode: 0o644 });
}
