/**
 * Process 1 of cells that a runtime makes. Its program is in the root that all cells share. If programs use gVisor's kernel, the
 * root also has their system call filter, so that runsc need not make one for each cell.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { type KernelFilterOptions, type SeccompProfile, seccompProfile } from '../kernel/seccomp/seccomp.ts';
import { ruleLine } from '../kernel/seccomp/seccomp-rule.ts';
import { nativePath } from '../native/native.ts';
import { GUEST } from './description.ts';
import type { RootFiles } from './rootfs.ts';

/** The program of process 1, built from `../native/launcher`. A launcher makes process 1 of its cells from the same sources. */
const SVC_INIT = nativePath('svc-init');
const SVC_FILTER = nativePath('svc-filter');

/** The command of a process 1 that expects the runtime to set the filter. */
export const PROCESS_ONE: readonly string[] = [GUEST.init, '-'];
/** The command of a process 1 that sets the filter itself. */
export const FILTERING_PROCESS_ONE: readonly string[] = [GUEST.init, GUEST.filter];

/** Whether the filter can be made ahead of time. Its maker can be built only where the headers of libseccomp are installed. */
export function makesFilter(): boolean {
  return existsSync(SVC_FILTER);
}

/** The files for the root of the cells. */
export function processOneFiles({ sharesHostKernel, loopback }: KernelFilterOptions): RootFiles {
  const init = { [GUEST.init]: readFileSync(SVC_INIT) };
  if (sharesHostKernel || !makesFilter()) return init;
  return { ...init, [GUEST.filter]: compileFilter(seccompProfile({ loopback, sharesHostKernel })) };
}

function compileFilter({ syscalls, defaultErrnoRet }: SeccompProfile): Uint8Array {
  const lines = [...syscalls.map(ruleLine), `otherwise ${defaultErrnoRet}`];
  return execFileSync(SVC_FILTER, { input: `${lines.join('\n')}\n`, stdio: ['pipe', 'pipe', 'pipe'] });
}
