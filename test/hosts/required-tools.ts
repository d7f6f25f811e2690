/** What builds and runs hosts, as packages of Debian: installed where this process may, else named. */
import { existsSync } from 'node:fs';
// @ts-expect-error: the set-up is plain JavaScript.
import { installMissing } from '../../packages/server/setup/system-packages.mjs';

const TOOLS = [
  { name: 'qemu-system-x86', file: '/usr/bin/qemu-system-x86_64' },
  { name: 'qemu-system-arm', file: '/usr/bin/qemu-system-aarch64' },
  { name: 'qemu-user-static', file: '/usr/bin/qemu-aarch64-static' },
  { name: 'binfmt-support', file: '/usr/sbin/update-binfmts' },
  { name: 'arch-test', file: '/usr/bin/arch-test' },
  { name: 'mmdebstrap', file: '/usr/bin/mmdebstrap' },
  { name: 'e2fsprogs', file: '/sbin/mkfs.ext4' },
  { name: 'cpio', file: '/usr/bin/cpio' },
  { name: 'xz-utils', file: '/usr/bin/xz' },
];

/** @throws Error that names what is missing and could not be installed */
export function requireTools(): void {
  const missing = () => TOOLS.filter(({ file }) => !existsSync(file)).map(({ name }) => name);
  installMissing(missing(), 'emulated hosts');
  const left = missing();
  if (left.length > 0) throw new Error(`hosts cannot be made without ${left.join(', ')}`);
}
