/** crun, the runtime of the namespace class where the launcher does not fork the cells. */
import { join } from 'node:path';
import { stageWords } from '../../cell/cell-layout.ts';
import { observeNamespaceCell, readCellReport } from '../../cell/observe/observe.ts';
import { PROCESS_ONE } from '../../cell/process-one.ts';
import { installed, versionOf } from '../../kernel/host/executable.ts';
import { requireNatives } from '../../native/native.ts';
import { type StartedRuntime, startedRuntime } from '../oci/runtime-start.ts';
import { requireVersion } from '../oci/runtime-version.ts';

/** crun, for the namespace class. Two processes in a cell's group are not the job's: crun's own, and process 1 of the cell. */
export async function crunRuntime(): Promise<StartedRuntime> {
  const path = installed('crun');
  const version = await versionOf(path, /crun version (\S+)/);
  requireVersion('crun', version);
  requireNatives('svc-stage', 'svc-init');
  const own = 2;
  return startedRuntime({
    name: 'crun',
    backend: 'namespace',
    isolation_class: 'linux-shared-kernel',
    path,
    identity: { name: 'crun', version, platform: null },
    sharesHostKernel: true,
    processOne: PROCESS_ONE,
    overhead: { memoryBytes: 0, processes: (maxPids) => maxPids + own, guestProcesses: 16 },
    // crun refuses the v2 mount of a hybrid cgroup layout.
    stage: (options) =>
      stageWords(options, [
        'kernel=host',
        ...(options.loopback ? ['loopback=up'] : []),
        ...(options.hybridMount === null ? [] : [`hide=${options.hybridMount}`]),
      ]),
    command: ({ directory, id, hasTools }) => [
      path,
      `--root=${join(directory, 'state')}`,
      '--cgroup-manager=disabled',
      'run',
      '--no-new-keyring',
      ...(hasTools ? ['--preserve-fds=2'] : []),
      `--bundle=${directory}`,
      id,
    ],
    observe: (runtimePid) => observeNamespaceCell(readCellReport(runtimePid)),
    ownMemoryBytes: () => 0,
    heldProcesses: ({ group }) => group - own,
  });
}
