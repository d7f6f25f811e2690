/**
 * The oldest runtimes that cells are built with, and known defects of old ones. Older runtimes were never tried here,
 * and some have known escapes (crun: CVE-2019-18837, CVE-2022-27650). Distributions fix a release without changing its
 * number, so a newer release cannot be refused by its number.
 */
import type { RuntimeIdentity } from '@vouchbox/protocol';

/** The oldest accepted versions: those of Debian 12. The hostile suite runs with them. */
const OLDEST = { crun: [1, 8], runsc: [20221219] } as const;

/**
 * Checks the version that a runtime reports: `1.8.1` for crun, a release date as in `0.0~20221219.0` or `release-20240212.0` for
 * runsc. Throws one line for the operator if the version is too old or missing.
 */
export function requireVersion(name: 'crun' | 'runsc', version: string | null): void {
  const oldest = OLDEST[name];
  const found = numbersOf(name, version ?? '');
  if (found === null) throw new Error(`${name} does not say which version it is: install one from your distribution`);
  if (compare(found, oldest) < 0) {
    throw new Error(`${name} ${version} is older than ${oldest.join('.')}, the oldest accepted version: upgrade it`);
  }
}

/** The first release of gVisor that has the platform `systrap`, and whose statx(2) accepts the flags of ordinary tools. */
const RUNSC_CURRENT = 20230801;

/** Known defects of an old runtime that still isolates, for the operator; null if there are none. */
export function knownDefects({ name, version }: RuntimeIdentity): string | null {
  const [date] = numbersOf('runsc', version ?? '') ?? [];
  if (name !== 'runsc' || date === undefined || date >= RUNSC_CURRENT) return null;
  return 'ls, stat and other programs that call statx(2) fail in it with "Invalid argument", and system calls are slow';
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
