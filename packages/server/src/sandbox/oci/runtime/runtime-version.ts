/**
 * The oldest runtimes that cells are built with, and what fails in old ones. Those before them were never tried here, and
 * some have known ways out of a container (crun: CVE-2019-18837, CVE-2022-27650). Distributions mend a release without
 * changing its number, so no newer one can be refused by its number.
 */
import type { RuntimeIdentity } from '@vouchbox/protocol';

/** Debian 12's, which the hostile suite is run with. */
const OLDEST = { crun: [1, 8], runsc: [20221219] } as const;

/**
 * Checks what a runtime says of its version: `1.8.1` of crun, a release date as in `0.0~20221219.0` or
 * `release-20240212.0` of runsc. Throws one line for an operator where that is too old or says nothing.
 */
export function requireVersion(name: 'crun' | 'runsc', version: string | null): void {
  const oldest = OLDEST[name];
  const found = numbersOf(name, version ?? '');
  if (found === null) throw new Error(`${name} does not say which version it is: install one from your distribution`);
  if (compare(found, oldest) < 0) {
    throw new Error(`${name} ${version} is older than ${oldest.join('.')}, the oldest that holds a cell: upgrade it`);
  }
}

/** The first gVisor with the platform `systrap`, and in which statx(2) takes the flags of ordinary tools. */
const RUNSC_CURRENT = 20230801;

/** What is known to fail in a runtime that is old but holds a cell, for an operator; null if nothing is. */
export function knownDefects({ name, version }: RuntimeIdentity): string | null {
  const [date] = numbersOf('runsc', version ?? '') ?? [];
  if (name !== 'runsc' || date === undefined || date >= RUNSC_CURRENT) return null;
  return 'in it ls, stat and whatever else asks statx(2) fail with "Invalid argument", and system calls are slow';
}

function numbersOf(name: 'crun' | 'runsc', version: string): readonly number[] | null {
  const pattern = name === 'crun' ? /^\d+(?:\.\d+)+/ : /\d{8}/;
  const [text] = pattern.exec(version) ?? [];
  return text === undefined ? null : text.split('.').map(Number);
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = other.findIndex((number, index) => (one[index] ?? 0) !== number);
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] as number);
}
