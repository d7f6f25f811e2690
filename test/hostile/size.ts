/**
 * How often, or with how many at once, something is tried. `npm test` tries enough to show a fault in a short time;
 * HOSTILE_SIZE=full tries each case as often as it takes to be sure.
 */
import type { HostileClass } from './hostile-case.ts';

export type Size = Readonly<Record<HostileClass | 'full', number>>;

const isFull = process.env['HOSTILE_SIZE'] === 'full';

/** The number for a class. */
export function sizeFor(hostileClass: HostileClass, size: Size): number {
  return size[isFull ? 'full' : hostileClass];
}

/**
 * How many times longer than on an ordinary machine a case may take, and each limit of time that it is not about:
 * HOSTILE_PATIENCE on an emulated one.
 */
export const PATIENCE = Number(process.env['HOSTILE_PATIENCE'] ?? 1);

/** How long one case may take: enough beside a load of eight on two cores. */
export const CASE_MILLISECONDS_MAX = PATIENCE * (isFull ? 3_600_000 : 240_000);

/** How long a process that a case starts may take: less than the case, which then says what the process wrote. */
export const PROCESS_MILLISECONDS_MAX = 0.75 * CASE_MILLISECONDS_MAX;
