/**
 * The empty root of every cell: mount points, links into `/usr`, and a few small files. From the host it has only the files in
 * `/etc` that packages provide for every program. It holds nothing of a job. All cells share it, and it is read-only in each.
 */
import { chmodSync, copyFileSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const DIRECTORIES =
  'dev etc/alternatives libraries opt/svc/bin proc svc/guest svc/report sys/fs/cgroup tmp usr work'.split(' ');
const LINKS = ['bin', 'lib', 'lib64', 'sbin'];
/** The mount point of the interpreter Node. */
const NODE = 'opt/svc/bin/node';

/** The files in the `/etc` of every cell, by name: its own two users, and no network. */
export const ETC_FILES: Readonly<Record<string, string>> = {
  passwd: 'root:x:0:0:root:/:/bin/false\nrunner:x:1000:1000:runner:/tmp:/bin/bash\n',
  group: 'root:x:0:\nrunner:x:1000:\n',
  hostname: 'sandbox\n',
  hosts: '127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n',
  'resolv.conf': '',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
};

/** Further links in a cell of the `system` pack, and their targets. */
const ETC_LINKS: Readonly<Record<string, string>> = {
  localtime: '../usr/share/zoneinfo/Etc/UTC',
  'os-release': '../usr/lib/os-release',
};

/**
 * Files of the host's `/etc` that belong to the content of its `/usr`: the places of libraries, the names of services, protocols
 * and file types, key bindings, and the files that Debian's Python links to. None of them describes the machine.
 */
const ETC_OF_USR = ['inputrc', 'ld.so.cache', 'locale.alias', 'mime.types', 'protocols', 'services'];
const PYTHON_DIRECTORY = /^python3\.\d+$/;
const LARGEST_COPY = 1024 * 1024;
const READABLE_FOR_ALL = 0o004;

/** Further programs and files of a root, by their paths in that root. */
export type RootFiles = Readonly<Record<string, Uint8Array>>;

/** Builds the root in `path`, which must not exist. */
export function buildRootfs(path: string, files: RootFiles = {}): void {
  mkdirSync(path, { mode: 0o755 });
  for (const directory of DIRECTORIES) mkdirSync(join(path, directory), { recursive: true, mode: 0o755 });
  for (const link of LINKS) symlinkSync(`usr/${link}`, join(path, link));
  for (const [name, target] of Object.entries(ETC_LINKS)) symlinkSync(target, join(path, 'etc', name));
  for (const [name, content] of Object.entries(ETC_FILES))
    writeFileSync(join(path, 'etc', name), content, { mode: 0o644 });
  for (const name of etcOfUsr()) copyFromHost(join('/etc', name), join(path, 'etc', name));
  writeFileSync(join(path, NODE), '', { mode: 0o644 });
  addRootFiles(path, files);
}

export function addRootFiles(path: string, files: RootFiles): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true, mode: 0o755 });
    writeFileSync(join(path, name), content, { mode: 0o755 });
  }
}

function etcOfUsr(): readonly string[] {
  const pythons = readdirSync('/etc').filter((name) => PYTHON_DIRECTORY.test(name));
  return [...ETC_OF_USR, ...pythons.map((name) => `${name}/sitecustomize.py`)];
}

/** Copies a file that every user of the host may read. It is left out if it is missing or not a small file. */
function copyFromHost(source: string, destination: string): void {
  const stats = statSync(source, { throwIfNoEntry: false });
  if (!stats?.isFile() || stats.size > LARGEST_COPY || (stats.mode & READABLE_FOR_ALL) === 0) return;
  mkdirSync(dirname(destination), { recursive: true, mode: 0o755 });
  copyFileSync(source, destination);
  chmodSync(destination, 0o644);
}
