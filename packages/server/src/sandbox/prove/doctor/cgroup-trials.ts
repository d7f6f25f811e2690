/**
 * Tries the control groups of this host with a group made for the doctor: limits are set, read back and exceeded, and all
 * processes in the group are killed through it. The group is removed afterwards.
 */
import type { Group, GroupRoot } from '../../kernel/cgroup/cgroup.ts';
import { type CgroupLayout, openGroupRoot, readCgroupLayout } from '../../kernel/cgroup/layout.ts';
import { isRootOfHost } from '../../kernel/user-namespace/mapped-users.ts';
import { type Finding, fail, pass, warn } from './finding.ts';
import type { Probes } from './probe.ts';
import type { Trial } from './trial.ts';

const MIB = 1024 * 1024;
const LIMITS = { memoryBytes: 48 * MIB, processes: 16 };
const TOO_MUCH_BYTES = 256 * MIB;
const TOO_MANY = 64;
const DELEGATE = 'run as root, and in a container give it a writable cgroup of its own (systemd: Delegate=yes)';

const SCOPE = 'start it with a delegated group: systemd-run --user --scope --property=Delegate=yes vouchbox …';

/** Whether cells need groups. An ordinary user to whom no group was given makes cells without groups. */
export function needsGroups(): boolean {
  return isRootOfHost() || readCgroupLayout().usable !== null;
}

/**
 * Trials that share one group, below a group root named `instance`. Dispose of this object after the trials, and before the
 * probes.
 */
export class CgroupTrials implements AsyncDisposable {
  readonly #instance: string;
  readonly #probes: Probes;
  #root: GroupRoot | undefined;
  #group: Group | undefined;

  constructor(instance: string, probes: Probes) {
    this.#instance = instance;
    this.#probes = probes;
  }

  get all(): Trial[] {
    const layout: Trial = {
      id: 'cgroup.layout',
      title: 'control groups with the memory and pids controllers',
      fix: 'mount a cgroup file system with both controllers',
      attempt: () => describeLayout(readCgroupLayout()),
    };
    if (!needsGroups()) return [layout];
    return [
      layout,
      this.#trial('cgroup.delegation', 'a group can be made', 'cgroup.layout', () => this.#make()),
      this.#trial('cgroup.limits', 'memory and process limits are read back as set', 'cgroup.delegation', () =>
        this.#limit(),
      ),
      this.#trial('cgroup.memory', 'a process over its memory limit is killed, and counted', 'cgroup.limits', () =>
        this.#exhaustMemory(),
      ),
      this.#trial('cgroup.pids', 'one process too many is refused, and counted', 'cgroup.limits', () =>
        this.#exhaustProcesses(),
      ),
      this.#trial('cgroup.cpu', 'CPU time is counted', 'cgroup.delegation', () => this.#readCpu()),
      this.#trial('cgroup.kill', 'everything in a group is killed through it', 'cgroup.delegation', () => this.#kill()),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#group?.remove();
    this.#root?.dispose();
  }

  #trial(id: string, title: string, need: string, attempt: () => Promise<Finding> | Finding): Trial {
    return { id, title, needs: [need], fix: DELEGATE, attempt };
  }

  async #make(): Promise<Finding> {
    const root = openGroupRoot(readCgroupLayout(), this.#instance);
    this.#root = root;
    // An earlier doctor that was killed may have left its group.
    await Promise.all(root.names().map((name) => root.open(name).remove()));
    this.#group = root.create('trial');
    return pass(`made in cgroup ${root.version}`);
  }

  #limit(): Finding {
    const held = this.#made().limit(LIMITS);
    const observed = `${held.memoryBytes / MIB} MiB and ${held.processes} processes`;
    const isSame = held.memoryBytes === LIMITS.memoryBytes && held.processes === LIMITS.processes;
    return isSame ? pass(observed) : fail(observed, DELEGATE);
  }

  async #exhaustMemory(): Promise<Finding> {
    const group = this.#made();
    const { said, signal } = await this.#probes.begin(['allocate', String(TOO_MUCH_BYTES)], group.joinFiles).ended;
    const kills = group.read('oomKills');
    if (signal === 'SIGKILL' && kills > 0) return pass('killed with SIGKILL, and counted');
    if (signal === 'SIGKILL') return fail('killed, but the kernel counted no oom_kill', 'run Linux 4.13 or newer');
    return fail(
      `${TOO_MUCH_BYTES / MIB} MiB under a limit of ${LIMITS.memoryBytes / MIB}: ${said}`,
      'limit swap as well: boot with swapaccount=1, or swapoff -a',
    );
  }

  async #exhaustProcesses(): Promise<Finding> {
    const group = this.#made();
    const { said, ok } = await this.#probes.begin(['fork', String(TOO_MANY)], group.joinFiles).ended;
    const wanted = `${LIMITS.processes - 1} children, then: Resource temporarily unavailable`;
    if (!ok || said !== wanted) return fail(said, DELEGATE);
    if (group.read('processesRefused') === 0) {
      return warn('refused, but not counted: a job that forks too often is not told so', 'run Linux 4.4 or newer');
    }
    return pass('refused at the limit with an ordinary error, and counted');
  }

  #readCpu(): Finding {
    return this.#made().read('cpuMicroseconds') > 0 ? pass('counted') : fail('no CPU time was counted', DELEGATE);
  }

  async #kill(): Promise<Finding> {
    const group = this.#made();
    const { spoke, ended } = this.#probes.begin(['wait'], group.joinFiles);
    await spoke;
    const before = group.members().length;
    group.kill();
    const { signal } = await ended;
    await group.remove();
    this.#group = undefined;
    const observed = `${before} processes killed, ${this.#root?.names().length} groups left`;
    return signal === 'SIGKILL' && before === 2 ? pass(observed) : fail(`${observed} (${signal})`, DELEGATE);
  }

  #made(): Group {
    if (this.#group === undefined) throw new Error('there is no group');
    return this.#group;
  }
}

function describeLayout(layout: CgroupLayout): Finding {
  const { usable, problem, version } = layout;
  if (usable === null && !needsGroups())
    return warn(`${version}, and no group can be made: memory is watched, not held`, SCOPE);
  if (usable === null) return fail(`${version}, and no limit can be held`, problem ?? DELEGATE);
  return pass(`${version}, limits are held by cgroup ${'v2' in usable ? 'v2' : 'v1'}`);
}
