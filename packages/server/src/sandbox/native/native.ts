/** The programs that this service starts: those that the set-up compiles from the C of this folder, and perl. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const PERL = '/usr/bin/perl';

/** The path of a compiled one, whether or not it was built. Only this function knows where they are. */
export function nativePath(name: string): string {
  return fileURLToPath(new URL(`../../../native/${name}`, import.meta.url));
}

/** Throws one line for an operator if one of them is not built. */
export function requireNatives(...names: readonly string[]): void {
  const missing = names.filter((name) => !existsSync(nativePath(name)));
  if (missing.length === 0) return;
  throw new Error(`${missing.join(' and ')} must be built first (\`vouchbox setup\` does it where gcc is installed)`);
}
