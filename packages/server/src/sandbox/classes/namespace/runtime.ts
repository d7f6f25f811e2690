/**
 * The namespace class without a runtime process for each cell: launchers fork the cells. There is one launcher for each language
 * and runtime pack, and one for programs with tools. The cells equal crun's cells, and are observed in the same way.
 */
import { existsSync } from 'node:fs';
import { GUEST } from '../../cell/description.ts';
import type { CellOptions, Runtime } from '../../cell/runtime.ts';
import type { GroupRoot } from '../../kernel/cgroup/cgroup.ts';
import { versionOf } from '../../kernel/host/executable.ts';
import { hostPatience } from '../../kernel/host/patience.ts';
import { hasOneUser } from '../../kernel/user-namespace/mapped-users.ts';
import { nativePath, requireNatives } from '../../native/native.ts';
import { launcherConfiguration, type Template } from './configuration.ts';
import { startForked } from './forked-start.ts';
import { Launcher } from './launcher.ts';
import { Templates } from './templates.ts';
import { tried } from './trial.ts';

const LAUNCHER_PROGRAM = nativePath('svc-launcher');
const LAUNCHER_LIBRARY = nativePath('svc-launcher.so');

/** The only template is for Python: other interpreters start as fast as a copy, or have threads, which a copy would lack. */
export const PYTHON_TEMPLATE: Template = {
  arguments: ['/usr/bin/python3', '-I', '-u', `${GUEST.guest}/template.py`],
  library: LAUNCHER_LIBRARY,
};

/** How long a launcher may take to be ready on an ordinary host: longer than a cell may take while a job waits for it. */
const READY_MILLISECONDS_MAX = 30_000;

/** On a busy ordinary host, a launcher is asked for a sign of life after this silence, and killed after twice this silence. */
const SILENT_MILLISECONDS_MAX = 5000;

/** How many processes in the group of a cell are not the job's: process 1. */
const OWN_PROCESSES = 1;

/** Whether the launcher was built. In a checkout, the set-up needs gcc and the headers of libseccomp to build it. */
export function isLauncherBuilt(): boolean {
  return existsSync(LAUNCHER_PROGRAM);
}

/** A runtime whose cells are forked. Disposing it ends its launchers. Rejects if the launcher is not built. */
export async function launcherRuntime(groups: GroupRoot): Promise<Runtime> {
  requireNatives('svc-launcher');
  const version = await versionOf(LAUNCHER_PROGRAM, /svc-launcher version (\S+)/);
  const isGrouped = groups.version !== 'none';
  // In a user namespace the kernel counts each user's processes (namespaces(7)). Process 1 may have the job's user.
  const ownOfUser = hasOneUser() ? OWN_PROCESSES : 0;
  const { launcherOf, templates, ...launchers } = openLaunchers(await hostPatience());
  return {
    name: 'svc-launcher',
    backend: 'namespace',
    isolation_class: 'linux-shared-kernel',
    path: LAUNCHER_PROGRAM,
    identity: { name: 'svc-launcher', version, platform: null },
    sharesHostKernel: true,
    overhead: {
      memoryBytes: 0,
      processes: (maxPids) => maxPids + OWN_PROCESSES,
      guestProcesses: isGrouped ? 16 : ownOfUser,
    },
    templateOf(request) {
      if (request.language !== 'python' || !isGrouped || hasOneUser()) return null;
      if (request.isAsked) templates.noteAsked(request);
      return templates.launcherOf(request) === null ? null : request.owner;
    },
    start: (options, boot) => startForked(launcherOf(options), options, boot),
    ownMemoryBytes: () => 0,
    heldProcesses: ({ group, guest }) => (isGrouped ? group - OWN_PROCESSES : guest - ownOfUser),
    [Symbol.asyncDispose]: () => launchers[Symbol.asyncDispose](),
  };
}

/** All launchers: each either starts the interpreters of one kind of cell, or copies a template. */
function openLaunchers(patience: number) {
  const deadlines = {
    readyMilliseconds: READY_MILLISECONDS_MAX * patience,
    silentMilliseconds: SILENT_MILLISECONDS_MAX * patience,
  };
  const launchers = new Map<string, Launcher>();
  const launcherFor = (options: CellOptions, template: Template | null): Launcher =>
    new Launcher({
      program: LAUNCHER_PROGRAM,
      kind: `${options.language} of ${options.pack.name}${template === null ? '' : ', by copies'}`,
      configuration: launcherConfiguration(options, template),
      keepsCells: options.group.location.version === 'none',
      reserve: template === null ? undefined : options.reserve,
      ...deadlines,
    });
  const templates = new Templates({ open: ({ cell }) => tried(launcherFor(cell(), PYTHON_TEMPLATE), cell()) });
  const launcherOf = (options: CellOptions): Launcher => {
    const { language, stage, reproducible, hasTools, hasLibraries, pack, owner } = options;
    const copies = owner === undefined ? null : templates.launcherOf({ language, pack, owner });
    if (copies !== null) return copies;
    const parts = [reproducible && 'reproducible', hasTools && 'tools', hasLibraries && 'libraries'];
    const kind = [language, pack.name, stage, ...parts].join(' ');
    const known = launchers.get(kind);
    if (known !== undefined) return known;
    const launcher = launcherFor(options, null);
    launchers.set(kind, launcher);
    return launcher;
  };
  return {
    launcherOf,
    templates,
    async [Symbol.asyncDispose]() {
      await templates[Symbol.asyncDispose]();
      await Promise.all([...launchers.values()].map((launcher) => launcher[Symbol.asyncDispose]()));
    },
  };
}
