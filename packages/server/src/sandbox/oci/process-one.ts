/**
 * Process 1 of cells that a runtime makes, in the root of all cells. Where programs use gVisor's kernel, the root also has
 * their system call filter: runsc would make one for each cell.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { nativePath } from '../native.ts';
import { GUEST } from './description.ts';
import type { RootFiles } from './rootfs.ts';
import { runscSeccompProfile, type SeccompProfile } from './seccomp/seccomp.ts';
import { ruleLine } from './seccomp/seccomp-rule.ts';

/** Built from `../launcher`, as a launcher's own process 1 is. */
const SVC_INIT = nativePath('svc-init');
const SVC_FILTER = nativePath('svc-filter');
const ENOSYS = 38;

/** The command of process 1, which expects that the runtime sets the filter. */
export const PROCESS_ONE: readonly string[] = [GUEST.init, '-'];
/** The command of process 1, which sets the filter itself. */
export const FILTERING_PROCESS_ONE: readonly string[] = [GUEST.init, GUEST.filter];

/** Whether the filter can be made ahead: that program can be built only with the headers of libseccomp. */
export function makesFilter(): boolean {
  return existsSync(SVC_FILTER);
}

/** What the cells have of their own: the host's kernel or gVisor's, and whether programs may reach one another over `lo`. */
export interface CellsKind {
  readonly sharesHostKernel: boolean;
  readonly loopback: boolean;
}

/** The files for the root of the cells. */
export function processOneFiles({ sharesHostKernel, loopback }: CellsKind): RootFiles {
  const init = { [GUEST.init]: readFileSync(SVC_INIT) };
  if (sharesHostKernel || !makesFilter()) return init;
  return { ...init, [GUEST.filter]: compileFilter(runscSeccompProfile({ loopback })) };
}

/** The same rules that runsc gets, in the same order. Rules that trace are for calls that the filter does not know. */
function compileFilter({ syscalls }: SeccompProfile): Uint8Array {
  const lines = [...syscalls.map(ruleLine), `otherwise ${ENOSYS}`];
  return execFileSync(SVC_FILTER, { input: `${lines.join('\n')}\n`, stdio: ['pipe', 'pipe', 'pipe'] });
}
