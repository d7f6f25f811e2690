/**
 * The configuration that a launcher gets once, before it makes any cell: the same description of cells that runtimes get, as
 * lines that `configuration.c` reads.
 */
import { dirname } from 'node:path';
import { descriptionOptions, treesOf, workFileSystem } from '../../cell/cell-layout.ts';
import { type CellDescription, type CellMount, describeCell, GUEST } from '../../cell/description.ts';
import type { CellOptions, ReservedCell } from '../../cell/runtime.ts';
import { USAGE } from '../../cell/start.ts';
import { UNLIMITED } from '../../kernel/cgroup/cgroup.ts';
import { ruleLine } from '../../kernel/seccomp/seccomp-rule.ts';
import { hasOneUser, isRootOfHost, usersOfCells } from '../../kernel/user-namespace/mapped-users.ts';
import { runOf } from '../../program/stages.ts';
import { readingWord, writingWord } from './group-words.ts';

/** The memory limit of a template. A template only starts and makes copies, and each copy moves to its own group at once. */
const TEMPLATE_MEMORY_BYTES = 128 * 1024 * 1024;
const TEMPLATE_PROCESSES = 16;

/** The flags of mount(2), keyed by their words in mount(8). */
const MOUNT_FLAGS: Readonly<Record<string, number>> = {
  rw: 0,
  ro: 1,
  nosuid: 2,
  nodev: 4,
  noexec: 8,
  rbind: 0,
  private: 0,
  relatime: 2 ** 21,
  strictatime: 2 ** 24,
};

/** The resource numbers of getrlimit(2), from asm-generic/resource.h. */
const RESOURCES: Readonly<Record<keyof CellDescription['resources'], number>> = {
  STACK: 3,
  CORE: 4,
  NOFILE: 7,
  MEMLOCK: 8,
  SIGPENDING: 11,
  MSGQUEUE: 12,
  NICE: 13,
  RTPRIO: 14,
};

/** The template's command, and the library that the template loads. The interpreters of cells are copies of the template. */
export interface Template {
  readonly arguments: readonly string[];
  readonly library: string;
}

/**
 * The lines for a launcher of cells with these options, in no particular order. No value contains a line break. Without
 * a template, each cell executes an interpreter of its own; a launcher with a template needs `templateLines`, too.
 */
export function launcherConfiguration(options: CellOptions, template: Template | null): readonly string[] {
  const described = describeCell(descriptionOptions(options));
  const { mounts, resources, seccomp } = described;
  const flagsAt = (path: string) => flagsOf(mounts.find(({ destination }) => destination === path) as CellMount).flags;
  const { readings } = options.group.plan;
  const run = runOf(options);
  // `launch.sh` only waits. The launcher waits in its place, which saves the start of a shell.
  const executesLate = run.guest === 'launch.sh';
  const { compiler, program } = executesLate ? { compiler: run.compiler ?? [], program: run.command } : described;
  const lines = [
    ...options.group.joinFiles.map((file) => `${groupKeyword(file)} ${dirname(dirname(file))}`),
    ...(readings.memoryBytes === null ? [] : [`look ${readingWord(readings.memoryBytes)}`]),
    ...USAGE.flatMap((measure) => readings[measure] ?? []).map((reading) => `usage ${readingWord(reading)}`),
    ...(readings.processesLimit === null
      ? []
      : [`count ${readingWord({ ...readings.processesLimit, file: 'pids.current' })}`]),
    `rootfs ${options.rootfs}`,
    ...treesOf(options).map(({ source, destination }) => `tree ${flagsAt(destination)} ${source}\t${destination}`),
    ...mounts.filter(({ type }) => type !== 'bind').map(mountLine),
    `work ${workFileSystem(options)}`,
    `workflags ${flagsAt(GUEST.work)}`,
    ...(options.loopback ? ['loopback up'] : []),
    ...(isRootOfHost() ? [] : ['devices shown']),
    ...(hasOneUser() ? ['mapping one'] : []),
    ...described.maskedPaths.map((path) => `mask ${path}`),
    ...described.readonlyPaths.map((path) => `readonly ${path}`),
    ...Object.entries(resources).map(([name, value]) => `limit ${RESOURCES[name as keyof typeof RESOURCES]} ${value}`),
    `otherwise ${seccomp.defaultErrnoRet}`,
    ...seccomp.syscalls.map(ruleLine),
    ...described.environment.map((entry) => `environment ${entry}`),
    ...compiler.map((word) => `compiler ${word}`),
    ...(executesLate ? ['execute late'] : []),
    ...(template?.arguments ?? program).map((word) => `argument ${word}`),
    ...(template === null ? [] : [`library ${template.library}`]),
  ];
  const broken = lines.find((line) => line.includes('\n'));
  if (broken !== undefined) throw new Error(`the launcher takes no line break: ${JSON.stringify(broken)}`);
  return lines;
}

/** The cell of a launcher's template: its id and users, and what is written to its groups before any process is in them. */
export function templateLines({ id, rootUid, group: { plan } }: ReservedCell): readonly string[] {
  const accesses = plan.toLimit({ memoryBytes: TEMPLATE_MEMORY_BYTES, processes: TEMPLATE_PROCESSES }, UNLIMITED);
  const { first, count } = usersOfCells();
  return [`users ${first} ${count}`, `template ${[id, rootUid, ...accesses.map(writingWord)].join(' ')}`];
}

function groupKeyword(joinFile: string): string {
  return joinFile.endsWith('/tasks') ? 'group' : 'group2';
}

function mountLine(mount: CellMount): string {
  const { flags, data } = flagsOf(mount);
  return `mount ${mount.destination}\t${mount.type} ${flags} ${data}`.trimEnd();
}

function flagsOf({ options }: CellMount): { flags: number; data: string } {
  const words = options.filter((option) => Object.hasOwn(MOUNT_FLAGS, option));
  return {
    flags: words.reduce((sum, word) => sum + (MOUNT_FLAGS[word] ?? 0), 0),
    data: options.filter((option) => !words.includes(option)).join(','),
  };
}
