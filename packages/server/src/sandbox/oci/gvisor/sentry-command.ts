/**
 * The program (`../../sentry`) that starts gVisor's two processes for a cell as `runsc run` would, with far fewer
 * starts of runsc. It uses internal interfaces of runsc that change with every release, so it is used only with
 * releases that it was tried with.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nativePath } from '../../native.ts';
import { bundleConfig, GUEST } from '../bundle.ts';
import { bundleOptions, compiledStage } from '../cell-layout.ts';
import type { RootFiles } from '../rootfs.ts';
import type { CellOptions } from '../runtime/runtime.ts';
import { runscSeccompProfile, type SeccompProfile } from '../seccomp/seccomp.ts';
import { ruleLine } from '../seccomp/seccomp-rule.ts';

/** Built from `../../sentry`. Process 1 of its cells is built from `../../launcher`. */
const SVC_SENTRY = nativePath('svc-sentry');
const SVC_STAGE = nativePath('svc-stage');
const SVC_INIT = nativePath('svc-init');
const SVC_FILTER = nativePath('svc-filter');
const ENOSYS = 38;

/** The release of Debian 13 and of the backports to Debian 12, with the names that its two builds report. */
const RELEASES: ReadonlySet<string> = new Set(['0.0~20240729.0', 'release-20240729.0']);

/** mount(2) flags by the words that a bundle has for them. */
const MOUNT_FLAGS: Readonly<Record<string, number>> = { ro: 1, nosuid: 2, nodev: 4, noexec: 8 };

/** Why cells cannot be started by it here, for an operator; null if they can. */
export function sentryObstacle(version: string | null): string | null {
  if (![SVC_STAGE, SVC_SENTRY, SVC_INIT].every((program) => existsSync(program)))
    return 'svc-stage, svc-sentry and svc-init are not built (`vouchbox setup` builds them where gcc is installed)';
  if (version !== null && RELEASES.has(version)) return null;
  return `svc-sentry was not tried with runsc ${version}, but with ${[...RELEASES].join(' and ')}`;
}

/** Makes the cell's own mounts and executes the command that follows these words. */
export function sentryStage(options: CellOptions): readonly string[] {
  return compiledStage(SVC_STAGE, options);
}

/** `runsc` is its path and the flags that both processes are given. */
export function sentryCommand(options: CellOptions, runsc: readonly string[]): readonly string[] {
  const { directory, id, rootUid } = options;
  const filter = hasFilter() ? [] : ['--oci-seccomp'];
  const { mounts } = bundleConfig(bundleOptions(options));
  const binds = mounts
    .filter(({ type }) => type === 'bind')
    .flatMap((mount) => [mount.source, mount.destination, String(flagsOf(mount.options))]);
  return [
    SVC_SENTRY,
    directory,
    id,
    String(rootUid),
    join(directory, 'cell/rootfs'),
    ...binds,
    '--',
    ...runsc,
    ...filter,
  ];
}

/**
 * The command of process 1, which sets the compiled system call filter. Without one, runsc makes a filter for each
 * cell.
 */
export function compiledInit(): readonly string[] {
  return [GUEST.init, hasFilter() ? GUEST.filter : '-'];
}

/** Process 1 and the filter, for the root of the cells. */
export function compiledRootFiles(loopback: boolean): RootFiles {
  const init = { [GUEST.init]: readFileSync(SVC_INIT) };
  return hasFilter() ? { ...init, [GUEST.filter]: compileFilter(runscSeccompProfile({ loopback })) } : init;
}

/** It can be built only with the headers of libseccomp. */
function hasFilter(): boolean {
  return existsSync(SVC_FILTER);
}

/** The same rules that runsc gets, in the same order. Rules that trace are for calls that the filter does not know. */
function compileFilter({ syscalls }: SeccompProfile): Uint8Array {
  const lines = [...syscalls.map(ruleLine), `otherwise ${ENOSYS}`];
  return execFileSync(SVC_FILTER, { input: `${lines.join('\n')}\n`, stdio: ['pipe', 'pipe', 'pipe'] });
}

function flagsOf(options: readonly string[]): number {
  return options.reduce((flags, option) => flags + (MOUNT_FLAGS[option] ?? 0), 0);
}
