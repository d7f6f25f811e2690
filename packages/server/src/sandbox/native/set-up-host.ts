/** Installs on this host what isolation needs beyond the packages of npm. Plain JavaScript in `setup/` does the work. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { areNativesBrought, unusableNatives } from './native.ts';

/**
 * Compiles the programs that a checkout lacks. It reports this on stderr, or why it cannot: then a runtime is started for
 * each cell. Only root makes cells, so for others nothing is built.
 */
export async function buildMissingNatives(): Promise<void> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return;
  if (areNativesBrought() || unusableNatives().length === 0) return;
  await setUpHost('natives');
}

/**
 * Runs the set-up, which reports on stderr what it does and what is still missing.
 * @param part `natives` compiles what starts cells; `all` also installs the system's packages if this process may
 * @returns the exit code of the set-up
 */
export async function setUpHost(part: 'natives' | 'all'): Promise<number> {
  const program = fileURLToPath(new URL('../../../setup/main.mjs', import.meta.url));
  const child = spawn(process.execPath, [program, part], { stdio: ['ignore', 2, 2] });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
