/**
 * Lets this machine execute another architecture's programs while a root for that architecture is built. Uses Debian's
 * `qemu-user-static` and the kernel's binfmt_misc.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const REGISTRY = '/proc/sys/fs/binfmt_misc';
const OWN: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Lets programs for this architecture run until disposal. Does nothing if this machine executes them anyway. */
export function foreignPrograms(architecture: string): Disposable {
  if (OWN[process.arch] === architecture || existsSync(`${REGISTRY}/register`)) return { [Symbol.dispose]: () => {} };
  execFileSync('mount', ['-t', 'binfmt_misc', 'none', REGISTRY]);
  execFileSync('update-binfmts', ['--enable', 'qemu-aarch64']);
  return { [Symbol.dispose]: () => execFileSync('umount', [REGISTRY]) };
}
