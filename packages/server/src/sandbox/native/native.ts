/**
 * The programs that this service starts: perl, and those that are compiled from the C of this folder. An npm package brings the
 * compiled ones for each architecture, with a list of their digests; a checkout compiles its own and has no list.
 */
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const PERL = '/usr/bin/perl';

/** Every program, as `setup/build-natives.mjs` builds them. */
const NATIVES = [
  'svc-launcher',
  'svc-launcher.so',
  'svc-sentry',
  'svc-stage',
  'svc-init',
  'svc-filter',
  'svc-enter',
  'svc-canary',
];
const DIRECTORY = new URL('../../../native/', import.meta.url);
const LIST = new URL('digests.json', DIRECTORY);

/** The facts about programs, by path: `ARCHITECTURE/NAME`. */
type Digests = Readonly<Record<string, { readonly sha256: string }>>;

/** The path of a compiled program for this architecture, whether or not it exists. Only this module knows the directory. */
export function nativePath(name: string): string {
  return fileURLToPath(new URL(`${process.arch}/${name}`, DIRECTORY));
}

/** Whether a package brought the programs. */
export function areNativesBrought(): boolean {
  return existsSync(LIST);
}

/** Which of these programs are missing or, in a package, differ from the list of the package. */
export function unusableNatives(names: readonly string[] = NATIVES): readonly string[] {
  const digests = areNativesBrought() ? listedDigests() : null;
  return names.filter((name) => {
    if (!existsSync(nativePath(name))) return true;
    if (digests === null) return false;
    return digests[`${process.arch}/${name}`]?.sha256 !== hash('sha256', readFileSync(nativePath(name)), 'hex');
  });
}

function listedDigests(): Digests {
  return (JSON.parse(readFileSync(LIST, 'utf8')) as { readonly programs: Digests }).programs;
}

/** Why these programs cannot be used and what to do, in one line for an operator; null if they can. */
export function nativeProblem(names: readonly string[] = NATIVES): string | null {
  const unusable = unusableNatives(names).join(' and ');
  if (unusable === '') return null;
  if (!areNativesBrought()) {
    return `${unusable} must be built first (\`vouchbox setup\` does it where gcc and libseccomp-dev are installed)`;
  }
  const served = [...new Set(Object.keys(listedDigests()).map((path) => path.split('/')[0]))];
  if (!served.includes(process.arch)) {
    return `this package starts cells on ${served.join(' and ')}, and has no programs for ${process.arch}`;
  }
  return `${unusable} changed since this package was built: install the package again`;
}

/** Throws the line of `nativeProblem`. In a package, all programs must be as they were built, whichever ones are needed. */
export function requireNatives(...names: readonly string[]): void {
  const problem = areNativesBrought() ? problemOfPackage() : nativeProblem(names);
  if (problem !== null) throw new Error(problem);
}

let known: string | null | undefined;

/** The problem of the package. It is looked for only once, because the programs have 5 MB, and each class asks for it. */
function problemOfPackage(): string | null {
  if (known === undefined) known = nativeProblem();
  return known;
}
