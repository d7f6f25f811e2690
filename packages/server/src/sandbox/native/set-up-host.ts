/** Installs on this host what isolation needs beyond npm packages. Plain JavaScript in `setup/` does the work. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { StartError } from '../../ground/start-error.ts';
import { areNativesBrought, nativePath } from './native.ts';

/**
 * Compiles the programs of a checkout that are missing or come from other sources. It reports on stderr what it compiles, or why
 * it cannot; without them, a runtime starts for each cell. Only root makes cells, so nothing is built for other users.
 * @throws StartError if a program from other sources is left: it would silently do less than this service asks of it
 */
export async function buildStaleNatives(): Promise<void> {
  if (process.platform !== 'linux' || areNativesBrought()) return;
  const { staleNatives } = (await import(setUpFile('build-natives.mjs').href)) as {
    readonly staleNatives: () => readonly string[];
  };
  if (staleNatives().length > 0 && process.getuid?.() === 0) await setUpHost('natives');
  const old = staleNatives().filter((name) => existsSync(nativePath(name)));
  if (old.length > 0)
    throw new StartError(`compiled from other sources: ${old.join(', ')} (\`vouchbox setup\` compiles them again)`);
}

/**
 * Runs the set-up. It reports on stderr what it does and what is still missing.
 * @param part `natives` compiles the programs that start cells; `all` also installs the system's packages, if this process may
 * @returns the exit code of the set-up
 */
export async function setUpHost(part: 'natives' | 'all'): Promise<number> {
  const program = fileURLToPath(setUpFile('main.mjs'));
  const child = spawn(process.execPath, [program, part], { stdio: ['ignore', 2, 2] });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

function setUpFile(name: string): URL {
  return new URL(`../../../setup/${name}`, import.meta.url);
}
