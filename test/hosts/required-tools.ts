/** The Debian packages with the tools that build and run hosts. Installs missing packages, or else names them. */
import { existsSync } from 'node:fs';
// @ts-expect-error: the set-up is plain JavaScript.
import { planBackport } from '../../packages/server/setup/backports.mjs';
// @ts-expect-error: the set-up is plain JavaScript.
import { aptGet, attempt, installMissing, mayInstall } from '../../packages/server/setup/system-packages.mjs';

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

/**
 * QEMU 10 runs a host in a tenth less time than Debian 12's QEMU 7.2, and Node does not crash in it. The pins that the
 * set-up wrote keep apt away from the suite with QEMU 10, so apt ignores those pins here.
 */
function installEmulators(names: readonly string[]): void {
  const plan = names.length > 0 && mayInstall() ? planBackport(names[0]) : null;
  if (plan === null) return;
  const from = ['-o', 'Dir::Etc::PreferencesParts=-', '-t', plan.suite];
  attempt(`install QEMU from ${plan.suite}`, () =>
    aptGet('install', '-y', '--no-install-recommends', ...from, ...names),
  );
}

/** @throws Error that names the tools that are missing and could not be installed */
export function requireTools(): void {
  const missing = () => TOOLS.filter(({ file }) => !existsSync(file)).map(({ name }) => name);
  installEmulators(missing().filter((name) => name.startsWith('qemu-system-')));
  installMissing(missing(), 'emulated hosts');
  const left = missing();
  if (left.length > 0) throw new Error(`hosts cannot be made without ${left.join(', ')}`);
}
