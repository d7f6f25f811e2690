/** How a cell is laid out: the words that its stage takes, the options of its bundle, and the trees that it sees. */
import { join } from 'node:path';
import { PERL } from '../output/pipes.ts';
import { type BundleOptions, GUEST, type MountPoint } from './bundle.ts';
import type { CellOptions } from './runtime/runtime.ts';

/** Inodes of a cell's own file system: `/work` and all that is in it. */
const WORK_INODES = 1024;
const TEMPORARY_BYTES = 64 * 1024 * 1024;

/** `stage.pl` joins the group, makes the cell's mounts and executes the command that follows these words. */
export function interpretedStage(options: CellOptions): readonly string[] {
  const { directory, group, rootfs, rootUid, runtime, workBytes, hybridMount, programs, loopback } = options;
  return [
    PERL,
    join(programs, 'stage.pl'),
    join(directory, 'cell'),
    rootfs,
    String(runtime.rootFlags),
    String(rootUid),
    String(workBytes),
    String(WORK_INODES),
    String(runtime.outputPipeBytes),
    runtime.hidesAttributes ? 'hidden' : '-',
    runtime.sharesHostKernel ? 'overlay' : 'bind',
    runtime.sharesHostKernel && loopback ? 'up' : '-',
    hybridMount ?? '-',
    ...group.joinFiles,
    '--',
    ...treesOf(options).map(({ source }) => source),
    '--',
  ];
}

/** The same, compiled (`../sentry/stage.c`), for cells whose programs use a kernel of their own. */
export function compiledStage(program: string, options: CellOptions): readonly string[] {
  const { directory, group, rootfs, rootUid, runtime, workBytes } = options;
  return [
    program,
    join(directory, 'cell'),
    rootfs,
    String(rootUid),
    String(workBytes),
    String(WORK_INODES),
    String(runtime.outputPipeBytes),
    ...group.joinFiles,
    '--',
    ...treesOf(options).map(({ source }) => source),
    '--',
  ];
}

/** The options of the tmpfs that holds everything that a job can write below `/work`: tmpfs(5). */
export function workFileSystem({ workBytes }: CellOptions): string {
  return `size=${workBytes},nr_inodes=${WORK_INODES},mode=755`;
}

/** The options for the bundle of this cell. */
export function bundleOptions(options: CellOptions): BundleOptions {
  const { directory, language, loopback, pack, rootUid, runtime } = options;
  const binds = treesOf(options).map(({ destination }, at) => ({
    source: join(directory, 'cell/trees', String(at)),
    destination,
  }));
  return {
    runtime: runtime.name,
    language,
    cell: join(directory, 'cell'),
    binds,
    environment: pack.environment,
    rootUid,
    temporaryBytes: TEMPORARY_BYTES,
    loopback,
    processOne: runtime.processOne,
  };
}

/** The trees of the host that a cell sees, and where it sees them. */
export function treesOf({ pack, programs }: CellOptions): readonly MountPoint[] {
  return [...pack.binds, { source: join(programs, 'guest'), destination: GUEST.guest }];
}
