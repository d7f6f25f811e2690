/** The differences between the runtimes that run the one hardened bundle. */
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { type Backend, type IsolationClass, type RuntimeIdentity, streamBytesMax } from '@vouchbox/protocol';
import type { Group } from '../../cgroup/cgroup.ts';
import { versionOf } from '../../host/executable.ts';
import { INTERPRETED_INIT } from '../bundle.ts';
import { type CellOptions, interpretedStage } from '../cell-options.ts';
import { compiledInit, compiledRootFiles, sentryCommand, sentryStage } from '../gvisor/sentry-command.ts';
import { observeGvisorCell, observeNamespaceCell, readCellReport } from '../observe/observe.ts';
import type { RootFiles } from '../rootfs.ts';
import { confineGroup, startUnderRuntime } from './runtime-start.ts';
import { requireVersion } from './runtime-version.ts';
import type { Boot, Start } from './start.ts';

const MIB = 1024 * 1024;
const SEARCH_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Host resources that a runtime itself takes in a cell's group. They do not count against the job. */
export interface Overhead {
  /** The most memory that it may take, used for planning before a cell exists. The real amount is measured. */
  readonly memoryBytes: number;
  /** Host processes and threads for a job of `max_pids`. */
  readonly processes: (maxPids: number) => number;
  /**
   * How far RLIMIT_NPROC is above `max_pids`. Under crun it is above, so that the group refuses new processes and
   * counts the refusals. Under runsc it is one below, because gVisor counts an interpreter that changed its user for
   * its former user.
   */
  readonly guestProcesses: number;
}

export interface Runtime extends AsyncDisposable {
  readonly name: 'crun' | 'runsc' | 'svc-launcher';
  readonly backend: Backend;
  readonly isolation_class: IsolationClass;
  readonly path: string;
  readonly identity: RuntimeIdentity;
  /** Whether programs use the host's kernel. If so, files of the host get inodes of the cell's own. */
  readonly sharesHostKernel: boolean;
  /** The command of process 1 in its cells, before the words that say what it starts. */
  readonly processOne: readonly string[];
  /** Further files in the root of its cells. `loopback` is whether programs may reach one another over `lo`. */
  rootFiles(loopback: boolean): RootFiles;
  /** Mount flags of the cell's root, as mount(2) has them. */
  readonly rootFlags: number;
  readonly overhead: Overhead;
  /** The size of each pipe of standard output and error, in bytes; 0 keeps the kernel's default. */
  readonly outputPipeBytes: number;
  /**
   * Whether extended attributes of the host's files are hidden from the runtime: for those of a link, gVisor answers as
   * no kernel does.
   */
  readonly hidesAttributes: boolean;
  /**
   * The program that joins the cell's groups, makes its mounts and then executes the command; empty if no runtime is
   * started.
   */
  stage(options: CellOptions): readonly string[];
  /** The command that runs the cell's bundle in the foreground; empty if no runtime is started for a cell. */
  command(options: CellOptions): readonly string[];
  /** Makes the group of a cell and limits it, unless the launcher does. */
  confine(options: CellOptions, boot: Boot): void;
  /** Starts process 1 of a cell, which is in its group from its first instruction. */
  start(options: CellOptions, boot: Boot): Start;
  /**
   * The memory of a waiting cell, in bytes, that belongs to the runtime and not to the interpreter. Under runsc the
   * memory of programs is a file in memory, and all other memory belongs to the sentry and the gofer. Under crun the
   * runtime has none.
   */
  ownMemoryBytes(group: Group): number;
  /** The process limit that holds the job: the group's under crun, that of gVisor's own kernel under runsc. */
  heldProcesses(held: { readonly group: number; readonly guest: number }): number;
}

const MS_RDONLY = 1;
const MS_NOSUID = 2;
const MS_NODEV = 4;

/** crun, for the namespace class. Its own process and process 1 of the cell are the two that are not the job's. */
export async function crunRuntime(): Promise<Runtime> {
  const path = find('crun');
  const version = await versionOf(path, /crun version (\S+)/);
  requireVersion('crun', version);
  const own = 2;
  return {
    name: 'crun',
    backend: 'namespace',
    isolation_class: 'linux-shared-kernel',
    path,
    identity: { name: 'crun', version, platform: null },
    sharesHostKernel: true,
    processOne: INTERPRETED_INIT,
    rootFiles: () => ({}),
    rootFlags: MS_RDONLY | MS_NOSUID | MS_NODEV,
    overhead: { memoryBytes: 0, processes: (maxPids) => maxPids + own, guestProcesses: 16 },
    outputPipeBytes: 0,
    hidesAttributes: false,
    stage: interpretedStage,
    command: ({ directory, id }) => [
      path,
      `--root=${join(directory, 'state')}`,
      '--cgroup-manager=disabled',
      'run',
      '--no-new-keyring',
      `--bundle=${directory}`,
      id,
    ],
    confine: confineGroup,
    start: (options) => startUnderRuntime(options, (runtimePid) => observeNamespaceCell(readCellReport(runtimePid))),
    ownMemoryBytes: () => 0,
    heldProcesses: ({ group }) => group - own,
    [Symbol.asyncDispose]: async () => {},
  };
}

/** gVisor's ways to intercept system calls, best first. A platform may hang instead of failing: each must be tried. */
export const GVISOR_PLATFORMS = ['systrap', 'kvm', 'ptrace'] as const;
export type GvisorPlatform = (typeof GVISOR_PLATFORMS)[number];

/**
 * For a blocking write, gVisor takes only what the host's pipe has room for, and reports a short write, which no other
 * kernel does. Output that a program then drops would be missing from its record. If the pipe holds twice the recording
 * cap of a stream (a page of it may be half full), no write is cut before the record is full. The pipe's pages count as
 * the job's memory.
 */
const GVISOR_PIPE_BYTES = 2 * streamBytesMax;

/** The memory of gVisor's own processes before a program runs: about 20 MiB on systrap, more on slower platforms. */
const GVISOR_MEMORY_BYTES = 36 * MIB;

/**
 * Host threads that gVisor's own kernel may have. They are not the program's threads, which gVisor limits itself. Even
 * a program with a single process needs about as many of them as any other.
 */
const sentryThreads = (maxPids: number): number => 64 + 16 * Math.max(maxPids, 16);

/**
 * What starts the two processes of a gVisor cell: `direct` is our own program with a compiled process 1, which saves a
 * third of the processor time of a cell; `runsc` is `runsc run`.
 */
export type GvisorLauncher = 'direct' | 'runsc';

/** A platform, and what starts its cells. */
export interface GvisorWay {
  readonly platform: GvisorPlatform;
  readonly launcher: GvisorLauncher;
}

/** runsc, for the gVisor class. The sentry is many host threads and has memory of its own. */
export async function runscRuntime({ platform, launcher }: GvisorWay): Promise<Runtime> {
  const path = find('runsc');
  const version = await versionOf(path, /runsc version (\S+)/);
  requireVersion('runsc', version);
  return {
    name: 'runsc',
    backend: 'gvisor',
    isolation_class: 'gvisor-application-kernel',
    path,
    identity: { name: 'runsc', version, platform },
    sharesHostKernel: false,
    processOne: launcher === 'direct' ? compiledInit() : INTERPRETED_INIT,
    rootFiles: (loopback) => (launcher === 'direct' ? compiledRootFiles(loopback) : {}),
    // In a user namespace the gofer may not remount a locked mount, so the root has no flags of its own.
    rootFlags: 0,
    overhead: { memoryBytes: GVISOR_MEMORY_BYTES, processes: sentryThreads, guestProcesses: -1 },
    outputPipeBytes: GVISOR_PIPE_BYTES,
    hidesAttributes: true,
    stage: launcher === 'direct' ? sentryStage : interpretedStage,
    command: (options) => {
      const runsc = [path, `--platform=${platform}`, '--network=none', '--ignore-cgroups'];
      return launcher === 'direct' ? sentryCommand(options, runsc) : runCommand(options, [...runsc, '--oci-seccomp']);
    },
    confine: confineGroup,
    start: (options) => startUnderRuntime(options, (_runtimePid, report) => observeGvisorCell(report)),
    ownMemoryBytes: (group) => Math.min(group.anonymousBytes(), GVISOR_MEMORY_BYTES),
    heldProcesses: ({ guest }) => guest + 1,
    [Symbol.asyncDispose]: async () => {},
  };
}

function runCommand({ directory, id }: CellOptions, runsc: readonly string[]): readonly string[] {
  const files = [
    `--root=${join(directory, 'state')}`,
    `--log=${join(directory, 'runsc.log')}`,
    `--panic-log=${join(directory, 'panic.log')}`,
  ];
  return [...runsc, ...files, 'run', `-bundle=${directory}`, id];
}

function find(name: string): string {
  for (const directory of SEARCH_PATH) {
    const path = join(directory, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {}
  }
  throw new Error(`${name} is not installed (Debian, Ubuntu: apt-get install ${name})`);
}
