/**
 * Makes the bootstrap of real cells in a real runtime fail through one change. The production code has no hook for this: it
 * makes a cell from options, and the bench changes the options.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfinedCell } from '../../packages/server/src/sandbox/cell/cell.ts';
import type { Pack } from '../../packages/server/src/sandbox/cell/pack.ts';
import { processOneFiles } from '../../packages/server/src/sandbox/cell/process-one.ts';
import { buildRootfs } from '../../packages/server/src/sandbox/cell/rootfs.ts';
import type { CellOptions } from '../../packages/server/src/sandbox/cell/runtime.ts';
import { GVISOR_PLATFORMS, runscRuntime } from '../../packages/server/src/sandbox/classes/gvisor/runsc.ts';
import { crunRuntime } from '../../packages/server/src/sandbox/classes/namespace/crun.ts';
import {
  type StartedRuntime,
  type StartedRuntimeParts,
  startedRuntime,
} from '../../packages/server/src/sandbox/classes/oci/runtime-start.ts';
import type { GroupRoot } from '../../packages/server/src/sandbox/kernel/cgroup/cgroup.ts';
import { openGroupRoot, readCgroupLayout } from '../../packages/server/src/sandbox/kernel/cgroup/layout.ts';
import { instanceName, openRunDirectory } from '../../packages/server/src/sandbox/kernel/host/run-directory.ts';
import { systemPack } from '../../packages/server/src/sandbox/packs/system-pack.ts';
import { BootstrapError, type PreparedCell } from '../../packages/server/src/sandbox/sandbox.ts';
import { groupNames } from './host-groups.ts';
import { gvisorStarter } from './launchers.ts';
import { PATIENCE } from './size.ts';
import type { Target } from './target.ts';

const EDIT_BUNDLE = join(import.meta.dirname, 'edit-bundle.py');

/** A change to the bundle, as `edit-bundle.py` takes it. */
export type BundleEdit =
  | { readonly set: readonly (string | number)[]; readonly to: unknown }
  | { readonly drop: readonly (string | number)[] }
  | { readonly filter: 'none' | 'broken' }
  | { readonly mount: string; readonly without: readonly string[] };

/** The options for a cell that the bench makes. */
export interface BenchOptions extends CellOptions {
  readonly runtime: StartedRuntime;
}

export class FaultBench implements AsyncDisposable {
  /** This bench's data directory. The names of the bench's groups and of its directory on the host derive from it. */
  readonly #dataDirectory: string;
  readonly #directory: string;
  readonly #groups: GroupRoot;
  readonly #runtime: StartedRuntime;
  readonly #pack: Pack;

  private constructor(parts: {
    directory: string;
    groups: GroupRoot;
    runtime: StartedRuntime;
    pack: Pack;
    data: string;
  }) {
    this.#dataDirectory = parts.data;
    this.#directory = parts.directory;
    this.#groups = parts.groups;
    this.#runtime = parts.runtime;
    this.#pack = parts.pack;
  }

  /** Opens a bench with the target's runtime and, for gVisor, with the platform that the target chose. */
  static async open(target: Target): Promise<FaultBench> {
    const data = mkdtempSync(join(tmpdir(), 'svc-faults-'));
    const groups = openGroupRoot(readCgroupLayout(), instanceName(data));
    const directory = await openRunDirectory(instanceName(data), groups);
    const runtime = await runtimeOf(target);
    buildRootfs(
      join(directory, 'rootfs'),
      processOneFiles({ sharesHostKernel: runtime.sharesHostKernel, loopback: false }),
    );
    return new FaultBench({ data, directory, groups, runtime, pack: await systemPack() });
  }

  /** Prepares a cell with changed options. The caller disposes the cell. */
  prepare(change: (options: BenchOptions) => CellOptions): Promise<PreparedCell> {
    const id = randomUUID();
    const options = change({
      id,
      runtime: this.#runtime,
      pack: this.#pack,
      language: 'bash',
      owner: undefined,
      hasTools: false,
      hasLibraries: false,
      reserve: () => {
        throw new Error('no template is needed here');
      },
      group: this.#groups.open(id),
      directory: join(this.#directory, 'cells', id),
      rootfs: join(this.#directory, 'rootfs'),
      rootUid: 0x6f000000,
      hybridMount: this.#groups.hybridMount,
      workBytes: 1024 * 1024,
      hostPostureSha256: null,
      loopback: false,
      readyMilliseconds: 10_000 * PATIENCE,
    });
    return ConfinedCell.prepare(options, () => {});
  }

  /** The error with which the preparation fails. Rejects if the preparation does not fail. */
  async failure(change: (options: BenchOptions) => CellOptions): Promise<BootstrapError> {
    try {
      await using _ = await this.prepare(change);
    } catch (error) {
      if (error instanceof BootstrapError) return error;
      throw error;
    }
    throw new Error('the cell was made all the same');
  }

  /** What cells have left on the host: groups and directories. */
  left(): string[] {
    const cells = join(this.#directory, 'cells');
    return [...groupNames(this.#dataDirectory), ...(existsSync(cells) ? readdirSync(cells) : [])];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#groups.names().map((name) => this.#groups.open(name).remove()));
    this.#groups.dispose();
    rmSync(this.#directory, { recursive: true, force: true });
    rmSync(this.#dataDirectory, { recursive: true, force: true });
  }
}

/** A runtime that makes these edits to the bundle once it is written, and then starts from the bundle. */
export function withEdits(runtime: StartedRuntime, edits: readonly BundleEdit[]): StartedRuntime {
  return withParts(runtime, {
    command: (options) => [
      ...['/usr/bin/python3', EDIT_BUNDLE, join(options.directory, 'config.json'), JSON.stringify(edits)],
      ...runtime.command(options),
    ],
  });
}

/** The runtime with these parts replaced. */
export function withParts(runtime: StartedRuntime, parts: Partial<StartedRuntimeParts>): StartedRuntime {
  return startedRuntime({ ...runtime, ...parts });
}

async function runtimeOf(target: Target): Promise<StartedRuntime> {
  if (target.hostileClass === 'namespace') return await crunRuntime();
  const { posture } = await target.attack({ program: 'wait.sh', limits: { wall_seconds: 0.1 } });
  const platform = GVISOR_PLATFORMS.find((name) => name === posture.runtime_identity.platform);
  if (platform === undefined) throw new Error('the platform of gVisor was not observed');
  return await runscRuntime({ platform, starter: gvisorStarter() });
}
