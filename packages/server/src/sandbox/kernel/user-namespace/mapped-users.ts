/**
 * Which users of the host this process can name. Root of the host can name all of them; root of a user namespace can name only
 * those that are mapped there, and cannot control devices or mounts of the host. user_namespaces(7).
 */
import { readFileSync } from 'node:fs';

/** Users `first` to `first + count - 1`, by their ids in this namespace. */
export interface UserRange {
  readonly first: number;
  readonly count: number;
}

interface Extent extends UserRange {
  readonly outside: number;
}

const EVERYBODY = 2 ** 32 - 1;
/** A range of users that no user database, subordinate range or container manager hands out by default. */
const UNUSED: UserRange = { first: 0x70000000, count: 0x0ffffffe };

let extents: readonly Extent[] | null = null;

function ownExtents(): readonly Extent[] {
  extents ??= parseMap(readFileSync('/proc/self/uid_map', 'utf8'));
  return extents;
}

/** The lines of a `uid_map`. */
function parseMap(text: string): readonly Extent[] {
  return text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([first = 0, outside = 0, count = 0]) => ({ first, outside, count }));
}

/** Whether this process is root of the host itself, and not only of a user namespace. */
export function isRootOfHost(): boolean {
  return process.geteuid?.() === 0 && ownExtents().some(({ first, count }) => first === 0 && count === EVERYBODY);
}

/** Whether only the caller is mapped here. The caller is then root of the namespace, and the user of each program as well. */
export function hasOneUser(): boolean {
  return ownExtents().length === 1 && ownExtents()[0]?.count === 1;
}

/** The id that root of this user namespace has outside it; null if this process is root of the host or an ordinary user. */
export function ownerOutside(): number | null {
  if (process.geteuid?.() !== 0 || isRootOfHost()) return null;
  return ownExtents().find(({ first }) => first === 0)?.outside ?? null;
}

/**
 * The users for cells, two for each: a range of the host that nobody else has, or the users mapped in addition to root.
 *
 * @param map the text of a `uid_map`; this process's own by default
 * @throws Error if fewer than two users are mapped in addition to root
 */
export function usersOfCells(map?: string): UserRange {
  return usersIn(map === undefined ? ownExtents() : parseMap(map));
}

function usersIn(mapped: readonly Extent[]): UserRange {
  const end = UNUSED.first + UNUSED.count;
  if (mapped.some(({ first, count }) => first <= UNUSED.first && end <= first + count)) return UNUSED;
  const [largest] = mapped
    .map(({ first, count }) => (first === 0 ? { first: 1, count: count - 1 } : { first, count }))
    .toSorted((one, other) => other.count - one.count);
  if (largest === undefined || largest.count < 2) throw new Error('no users are mapped for cells: see /etc/subuid');
  return { first: largest.first, count: largest.count - (largest.count % 2) };
}
