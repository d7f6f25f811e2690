/**
 * The program (`../../native/sentry`) that starts gVisor's two processes for a cell as `runsc run` would, with far fewer
 * starts of runsc. It uses internal interfaces of runsc that change with every release, so it is used only with
 * releases that it was tried with.
 */
import { join } from 'node:path';
import { descriptionOptions } from '../../cell/cell-layout.ts';
import { describeCell } from '../../cell/description.ts';
import type { CellOptions } from '../../cell/runtime.ts';
import { nativePath, nativeProblem } from '../../native/native.ts';

const SVC_SENTRY = nativePath('svc-sentry');

/** The versions that the one tested release reports in its two builds: Debian 13's, and the backport to Debian 12. */
const RELEASES: ReadonlySet<string> = new Set(['0.0~20240729.0', 'release-20240729.0']);

/** mount(2) flags, keyed by the words that a bundle uses for them. */
const MOUNT_FLAGS: Readonly<Record<string, number>> = { ro: 1, nosuid: 2, nodev: 4, noexec: 8 };

/** Why svc-sentry cannot start cells here, for an operator; null if it can. */
export function sentryObstacle(version: string | null): string | null {
  const problem = nativeProblem(['svc-sentry']);
  if (problem !== null) return problem;
  if (version !== null && RELEASES.has(version)) return null;
  return `svc-sentry was tried with runsc ${[...RELEASES].join(' and ')}, not with ${version}`;
}

/** `runsc`: the path of runsc, and the flags for both processes. */
export function sentryCommand(options: CellOptions, runsc: readonly string[]): readonly string[] {
  const { directory, id, rootUid, hasTools } = options;
  const binds = describeCell(descriptionOptions(options))
    .mounts.filter(({ type }) => type === 'bind')
    .flatMap((mount) => [mount.source, mount.destination, String(flagsOf(mount.options))]);
  const cell = [directory, id, String(rootUid), join(directory, 'cell/rootfs'), hasTools ? 'tools' : '-'];
  return [SVC_SENTRY, ...cell, ...binds, '--', ...runsc];
}

function flagsOf(options: readonly string[]): number {
  return options.reduce((flags, option) => flags + (MOUNT_FLAGS[option] ?? 0), 0);
}
