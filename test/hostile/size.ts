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

/** How long one case may take, and a process that it starts. */
export const CASE_MILLISECONDS_MAX = isFull ? 3_600_000 : 90_000;
