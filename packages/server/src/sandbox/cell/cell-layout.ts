/** How a cell is laid out: the trees that it sees, its description, and the words for its `svc-stage`. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hasOneUser } from '../kernel/user-namespace/mapped-users.ts';
import { nativePath } from '../native/native.ts';
import { type DescriptionOptions, GUEST, type MountPoint } from './description.ts';
import type { CellOptions } from './runtime.ts';

/** The guest programs, which every cell sees. */
const GUEST_PROGRAMS = fileURLToPath(new URL('guest', import.meta.url));
/** How many inodes the cell's own file system has. It holds `/work` and everything below it. */
const WORK_INODES = 1024;
const TEMPORARY_BYTES = 64 * 1024 * 1024;

/**
 * The words for `svc-stage` (`../native/stage.c`). It joins the group, makes the cell's mounts and executes the command that
 * follows these words. `own` has further words for one runtime.
 */
export function stageWords(options: CellOptions, own: readonly string[]): readonly string[] {
  return [
    nativePath('svc-stage'),
    `cell=${join(options.directory, 'cell')}`,
    `rootfs=${options.rootfs}`,
    `root=${options.rootUid}`,
    `work=${workFileSystem(options)}`,
    ...own,
    ...(options.hasTools ? ['tools=yes'] : []),
    ...options.group.joinFiles.map((file) => `group=${file}`),
    ...treesOf(options).map(({ source }) => `tree=${source}`),
    '--',
  ];
}

/** The tmpfs(5) options of the file system for everything that a job can write below `/work`. */
export function workFileSystem({ workBytes }: CellOptions): string {
  return `size=${workBytes},nr_inodes=${WORK_INODES},mode=755`;
}

/** The options from which this cell's description is made. */
export function descriptionOptions(options: CellOptions): DescriptionOptions {
  const { directory, language, stage, reproducible, hasTools, hasLibraries, loopback, pack, rootUid, runtime } =
    options;
  const binds = treesOf(options).map(({ destination }, at) => ({
    source: join(directory, 'cell/trees', String(at)),
    destination,
  }));
  return {
    sharesHostKernel: runtime.sharesHostKernel,
    language,
    stage,
    reproducible,
    hasTools,
    hasLibraries,
    cell: join(directory, 'cell'),
    binds,
    environment: pack.environment,
    rootUid,
    temporaryBytes: TEMPORARY_BYTES,
    loopback,
    oneUser: hasOneUser(),
    watchesMemory: options.group.location.version === 'none',
  };
}

/** The host trees that a cell sees, with their places in the cell. */
export function treesOf({ pack }: CellOptions): readonly MountPoint[] {
  return [...pack.binds, { source: GUEST_PROGRAMS, destination: GUEST.guest }];
}
