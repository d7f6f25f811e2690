/**
 * Opens the two isolating providers on this host: finds the runtime, the groups and the packs, and removes what earlier
 * processes left.
 */
import { existsSync, rmSync } from 'node:fs';
import { ConfinedCells } from '../cell/cells.ts';
import type { Runtime } from '../cell/runtime.ts';
import type { GroupRoot } from '../kernel/cgroup/cgroup.ts';
import { openGroupRoot, readCgroupLayout } from '../kernel/cgroup/layout.ts';
import { processTrees } from '../kernel/cgroup/process-tree.ts';
import { hostPatience } from '../kernel/host/patience.ts';
import { instanceName, openRunDirectory } from '../kernel/host/run-directory.ts';
import { whyNoCells } from '../kernel/user-namespace/enter-user-namespace.ts';
import { isRootOfHost } from '../kernel/user-namespace/mapped-users.ts';
import { loadPacks } from '../packs/load-packs.ts';
import { systemPack } from '../packs/system-pack.ts';
import type { Candidate, PreflightOptions } from './candidate.ts';
import { chooseWay, tryTwice } from './gvisor/gvisor-platform.ts';
import { type GvisorWay, runscRuntime } from './gvisor/runsc.ts';
import { crunRuntime } from './namespace/crun.ts';
import { isLauncherBuilt, launcherRuntime } from './namespace/runtime.ts';
import { knownDefects } from './oci/runtime-version.ts';

const MIB = 1024 * 1024;
/** How long a platform may take to start a cell on an ordinary host. */
const TRY_MILLISECONDS_MAX = 5000;
/** How long a cell may take to be ready on an ordinary host, if a job waits for it. */
const READY_MILLISECONDS_MAX = 10_000;

/** Opens a candidate of the namespace class. A launcher forks its cells, or crun makes them. */
export async function openNamespaceCells(options: PreflightOptions): Promise<Candidate> {
  const { namespaceLauncher = 'auto' } = options;
  // In a user namespace crun cannot make the devices of a cell.
  const forks = namespaceLauncher === 'fork' || !isRootOfHost() || (namespaceLauncher === 'auto' && isLauncherBuilt());
  return openConfinedCells(options, forks ? launcherRuntime : crunRuntime);
}

/** Opens a candidate of the gVisor class. It uses runsc in the best way that works on this host. */
export async function openGvisorCells(options: PreflightOptions): Promise<Candidate> {
  requireRootOfHost();
  const tryWay = (way: GvisorWay) => tryTwice(way, (times) => tryGvisorWay(options, way, times));
  return openGvisorCellsOn(options, await chooseWay(options.gvisorStarter ?? 'auto', tryWay));
}

/** Opens a candidate of the gVisor class in a way that is known to work. */
export async function openGvisorCellsOn(options: PreflightOptions, way: GvisorWay): Promise<Candidate> {
  requireRootOfHost();
  return openConfinedCells(options, () => runscRuntime(way));
}

/**
 * Starts one cell in this way; the cell is gone when the promise resolves. Rejects if the cell is not ready in time; `times` is a
 * factor for that time. kvm always gets the time of an ordinary host, because a kvm that does not work hangs.
 */
export async function tryGvisorWay(options: PreflightOptions, way: GvisorWay, times = 1): Promise<void> {
  if (way.platform === 'kvm' && !existsSync('/dev/kvm')) throw new Error('there is no /dev/kvm');
  const instance = `${options.instance}#${way.platform}`;
  await using cells = await openGvisorCellsOn({ ...options, instance, packsDirectory: null }, way);
  const factor = way.platform === 'kvm' ? 1 : times * (await hostPatience());
  const readyMilliseconds = factor * TRY_MILLISECONDS_MAX;
  await using _ = await cells.prepare({ language: 'bash', runtime: null, readyMilliseconds });
}

/** Requires that this process is root of the host, or of a user namespace. */
function requireRoot(): void {
  const why = whyNoCells();
  if (why !== null) throw new Error(`this user lacks ${why.missing}: ${why.fix}`);
}

function requireRootOfHost(): void {
  requireRoot();
  if (!isRootOfHost()) throw new Error('gVisor cells need root on the host');
}

type RuntimeOf = (groups: GroupRoot) => Promise<Runtime>;

async function openConfinedCells(options: PreflightOptions, runtimeOf: RuntimeOf): Promise<Candidate> {
  requireRoot();
  const name = instanceName(options.instance);
  const groups = groupsFor(name);
  const runtime = await runtimeOf(groups);
  const directory = await openRunDirectory(name, groups);
  const { workBytes, hostPostureSha256, loopback: choice = 'auto' } = options;
  const hasLoopback = choice === 'auto' ? !runtime.sharesHostKernel : choice === 'on';
  const loaded = loadPacks(options.packsDirectory);
  const packs = [await systemPack(), ...loaded.packs];
  const cells = new ConfinedCells({
    runtime,
    packs,
    groups,
    directory,
    workBytes,
    hostPostureSha256,
    loopback: hasLoopback,
    readyMilliseconds: READY_MILLISECONDS_MAX * (await hostPatience()),
  });
  return {
    backend: runtime.backend,
    runtime_packs: cells.packs,
    hasLoopback,
    hasGroups: groups.version !== 'none',
    ownMemMb: runtime.overhead.memoryBytes / MIB,
    packsLeftOut: loaded.leftOut,
    loadNewPacks() {
      const since = loadPacks(options.packsDirectory, new Set(cells.packs.map(({ name: known }) => known)));
      for (const pack of since.packs) cells.addPack(pack);
      return since;
    },
    forgetPack: (unproven) => cells.forgetPack(unproven),
    runtimeDefects: knownDefects(runtime.identity),
    prepare: (request) => cells.prepare(request),
    originOf: (kind) => cells.originOf(kind),
    noteAsked: (kind) => cells.noteAsked(kind),
    async [Symbol.asyncDispose]() {
      await cells[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true, force: true });
      groups.dispose();
    },
  };
}

/** The groups for cells. Root of the host makes no cells without groups; an ordinary user has groups only by delegation. */
function groupsFor(name: string): GroupRoot {
  const layout = readCgroupLayout();
  return layout.usable === null && !isRootOfHost() ? processTrees() : openGroupRoot(layout, name);
}
