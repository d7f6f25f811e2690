/** runsc, the runtime of the gVisor class, and the ways in which it starts cells. */
import { join } from 'node:path';
import { streamBytesMax } from '@vouchbox/protocol';
import { stageWords } from '../../cell/cell-layout.ts';
import { observeGvisorCell } from '../../cell/observe/observe.ts';
import { FILTERING_PROCESS_ONE, makesFilter, PROCESS_ONE } from '../../cell/process-one.ts';
import type { CellOptions } from '../../cell/runtime.ts';
import { installed, versionOf } from '../../kernel/host/executable.ts';
import { requireNatives } from '../../native/native.ts';
import { type StartedRuntime, startedRuntime } from '../oci/runtime-start.ts';
import { requireVersion } from '../oci/runtime-version.ts';
import { sentryCommand } from './sentry-command.ts';

const MIB = 1024 * 1024;

/** gVisor's ways to intercept system calls, the best one first. A platform may hang instead of failing, so each must be tried. */
export const GVISOR_PLATFORMS = ['systrap', 'kvm', 'ptrace'] as const;
export type GvisorPlatform = (typeof GVISOR_PLATFORMS)[number];

/**
 * gVisor takes only as much of a blocking write as the host's pipe has room for. No other kernel cuts such a write. A program may
 * drop the bytes that were cut off, and its record would lack them. So the pipe holds twice the recording cap of a stream (a page
 * may be half full): no write is cut before the record is full. The pages count as the job's memory.
 */
const GVISOR_PIPE_BYTES = 2 * streamBytesMax;

/** The memory of gVisor's own processes before a program runs: about 20 MiB on systrap, more on slower platforms. */
const GVISOR_MEMORY_BYTES = 36 * MIB;

/**
 * Host threads that gVisor's own kernel may have. They are not the program's threads; gVisor itself limits those. Even a program
 * with a single process needs about as many host threads as any other program.
 */
const sentryThreads = (maxPids: number): number => 64 + 16 * Math.max(maxPids, 16);

/**
 * The starter of the two processes of a gVisor cell: `direct` is our own program, which saves processor time; `runsc` is
 * `runsc run`.
 */
export type GvisorStarter = 'direct' | 'runsc';

/** A platform, and the starter of its cells. */
export interface GvisorWay {
  readonly platform: GvisorPlatform;
  readonly starter: GvisorStarter;
}

/** runsc as the runtime of the gVisor class. Its sentry has many host threads and memory of its own. */
export async function runscRuntime({ platform, starter }: GvisorWay): Promise<StartedRuntime> {
  const path = installed('runsc');
  const version = await versionOf(path, /runsc version (\S+)/);
  requireVersion('runsc', version);
  requireNatives('svc-stage', 'svc-init');
  const runsc = [path, `--platform=${platform}`, '--network=none', '--ignore-cgroups'];
  const isFiltering = starter === 'direct' && makesFilter();
  const words = isFiltering ? runsc : [...runsc, '--oci-seccomp'];
  return startedRuntime({
    name: 'runsc',
    backend: 'gvisor',
    isolation_class: 'gvisor-application-kernel',
    path,
    identity: { name: 'runsc', version, platform },
    sharesHostKernel: false,
    processOne: isFiltering ? FILTERING_PROCESS_ONE : PROCESS_ONE,
    overhead: { memoryBytes: GVISOR_MEMORY_BYTES, processes: sentryThreads, guestProcesses: -1 },
    stage: (options) => stageWords(options, ['kernel=own', `pipe=${GVISOR_PIPE_BYTES}`]),
    command: (options) => (starter === 'direct' ? sentryCommand(options, words) : runCommand(options, words)),
    observe: (_runtimePid, report) => observeGvisorCell(report),
    ownMemoryBytes: (group) => Math.min(group.anonymousBytes(), GVISOR_MEMORY_BYTES),
    heldProcesses: ({ guest }) => guest + 1,
  });
}

function runCommand({ directory, id, hasTools }: CellOptions, runsc: readonly string[]): readonly string[] {
  const files = [
    `--root=${join(directory, 'state')}`,
    `--log=${join(directory, 'runsc.log')}`,
    `--panic-log=${join(directory, 'panic.log')}`,
  ];
  const passed = hasTools ? ['--pass-fd=3:3', '--pass-fd=4:4'] : [];
  return [...runsc, ...files, 'run', ...passed, `-bundle=${directory}`, id];
}
