/**
 * Makes a host's initial file system: busybox, and the modules that the kernel needs to find its disk. cpio(5), Linux,
 * Documentation/filesystems/ramfs-rootfs-initramfs.rst.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/** The modules for the disk, for its file system, and for the port on which the trials report. */
const WANTED = ['virtio_pci', 'virtio_blk', 'virtio_console', 'ext4'];

/** `tree` is the host's root, with its kernel's modules. */
export function makeInitialFiles(tree: string, file: string): void {
  const directory = mkdtempSync(join(tmpdir(), 'svc-initial-'));
  try {
    for (const name of ['bin', 'modules', 'dev', 'proc', 'root']) mkdirSync(join(directory, name));
    copyFileSync(join(tree, 'bin/busybox'), join(directory, 'bin/busybox'));
    const modules = modulesOf(tree).map((path) => unpacked(path, join(directory, 'modules')));
    writeFileSync(join(directory, 'init'), initScript(modules), { mode: 0o755 });
    const packed = execFileSync('sh', ['-c', 'find . | cpio --quiet -o -H newc | gzip -1'], {
      cwd: directory,
      maxBuffer: 2 ** 28,
    });
    writeFileSync(file, packed);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function initScript(modules: readonly string[]): string {
  return [
    '#!/bin/busybox sh',
    '/bin/busybox mount -t devtmpfs none /dev',
    ...modules.map((name) => `/bin/busybox insmod /modules/${name}`),
    'until /bin/busybox test -b /dev/vda; do /bin/busybox sleep 0.1; done',
    '/bin/busybox mount -t ext4 -o rw /dev/vda /root',
    '/bin/busybox umount /dev',
    'exec /bin/busybox switch_root /root /sbin/init',
    '',
  ].join('\n');
}

/** The wanted modules, in the order in which they can be inserted. A module that is built into the kernel has no file. */
function modulesOf(tree: string): readonly string[] {
  const [list = ''] = globSync(join(tree, 'lib/modules/*/modules.dep'));
  const needs = new Map(
    readFileSync(list, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line): [string, readonly string[]] => {
        const [path = '', rest = ''] = line.split(':');
        return [path, rest.trim().split(' ').filter(Boolean)];
      }),
  );
  const found: string[] = [];
  const add = (path: string): void => {
    if (found.includes(path)) return;
    for (const needed of needs.get(path) ?? []) add(needed);
    found.push(path);
  };
  for (const path of needs.keys()) if (WANTED.includes(basename(path).replace(/\.ko.*$/, ''))) add(path);
  return found.map((path) => join(list, '..', path));
}

/** Copies a module, unpacked, because busybox cannot read a compressed module. */
function unpacked(path: string, into: string): string {
  const name = basename(path).replace(/\.xz$/, '');
  if (path.endsWith('.xz')) writeFileSync(join(into, name), execFileSync('xz', ['-dc', path], { maxBuffer: 2 ** 28 }));
  else copyFileSync(path, join(into, name));
  return name;
}
