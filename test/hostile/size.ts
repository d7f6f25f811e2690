/**
 * How often a case is tried, or with how many programs at once. `npm test` tries enough to show a fault in a short
 * time. HOSTILE_SIZE=full tries each case as often as needed to be sure.
 */
import type { HostileClass } from './hostile-case.ts';

export type Size = Readonly<Record<HostileClass | 'full', number>>;

const isFull = process.env['HOSTILE_SIZE'] === 'full';

/** The number for a class, or the number for `full` with HOSTILE_SIZE=full. */
export function sizeFor(hostileClass: HostileClass, size: Size): number {
  return size[isFull ? 'full' : hostileClass];
}

/**
 * The factor for a case's time, and for each time limit that the case does not test. It is 1 on an ordinary machine, and
 * HOSTILE_PATIENCE on an emulated machine.
 */
export const PATIENCE = Number(process.env['HOSTILE_PATIENCE'] ?? 1);

/**
 * How long one case may take. A start waits up to six minutes for a runtime that hangs, if the host was busy when the start
 * measured its speed. Even a machine with two cores and a load of eight needs less for any other case.
 */
export const CASE_MILLISECONDS_MAX = PATIENCE * (isFull ? 3_600_000 : 540_000);

/** How long a process that a case starts may take. The case has more time, to report what the process wrote. */
export const PROCESS_MILLISECONDS_MAX = 0.75 * CASE_MILLISECONDS_MAX;
