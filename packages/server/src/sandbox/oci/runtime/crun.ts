/** crun, the runtime of the namespace class where cells are not forked by the launcher. */
import { join } from 'node:path';
import { installed, versionOf } from '../../host/executable.ts';
import { INTERPRETED_INIT } from '../bundle.ts';
import { interpretedStage } from '../cell-layout.ts';
import { observeNamespaceCell, readCellReport } from '../observe/observe.ts';
import type { Runtime } from './runtime.ts';
import { confineGroup, startUnderRuntime } from './runtime-start.ts';
import { requireVersion } from './runtime-version.ts';

const MS_RDONLY = 1;
const MS_NOSUID = 2;
const MS_NODEV = 4;

/** crun, for the namespace class. Its own process and process 1 of the cell are the two that are not the job's. */
export async function crunRuntime(): Promise<Runtime> {
  const path = installed('crun');
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
    templateOf: () => null,
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
