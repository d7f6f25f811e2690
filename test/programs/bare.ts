/** Runs a program on the host itself, as a user without privileges, in a directory laid out like a cell's `/work`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Run, TriedProgram } from './program.ts';

/** The user `nobody`, who owns no files. */
const UID = 65_534;
const SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin';
/** Longer than any job may take. So a program for which a job has too little time passes here, and the difference shows. */
const LONGEST_SECONDS = 900;

const INTERPRETERS = {
  bash: { interpreter: '/bin/bash', file: 'main.sh' },
  node: { interpreter: process.execPath, file: 'main.cjs' },
  python: { interpreter: '/usr/bin/python3', file: 'main.py' },
} as const;

/** Runs a program to its end, or until it has taken too long, and removes everything that it left. */
export async function runBare({ language, code }: TriedProgram): Promise<Run> {
  const home = mkdtempSync(join(tmpdir(), 'svc-bare-'));
  const work = join(home, 'work');
  const temporary = join(home, 'tmp');
  for (const path of [work, join(work, 'input'), join(work, 'output'), temporary]) {
    mkdirSync(path);
    chownSync(path, UID, UID);
  }
  chmodSync(home, 0o755);
  const { interpreter, file } = INTERPRETERS[language];
  const source = join(work, file);
  writeFileSync(source, code);
  try {
    return await run([interpreter, source], { work, temporary });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

interface Place {
  readonly work: string;
  readonly temporary: string;
}

async function run(words: readonly string[], { work, temporary }: Place): Promise<Run> {
  const began = performance.now();
  const user = [`--reuid=${UID}`, `--regid=${UID}`, '--clear-groups', '--no-new-privs'];
  const child = spawn('/usr/bin/setpriv', [...user, ...words], {
    cwd: work,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: SEARCH_PATH, HOME: temporary, TMPDIR: temporary, LANG: 'C.UTF-8', PYTHONUNBUFFERED: '1' },
  });
  const end = () => killGroup(child.pid);
  const deadline = setTimeout(end, LONGEST_SECONDS * 1000);
  const exited = once(child, 'exit').then(end);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  clearTimeout(deadline);
  const { exitCode, signalCode } = child;
  // The program's output may contain the directory's path. In a cell, that path is /work.
  const shown = (said: string) => said.replaceAll(work, '/work');
  const seconds = (performance.now() - began) / 1000;
  return {
    ended: signalCode ?? `exit ${exitCode}`,
    stdout: shown(stdout),
    stderr: shown(stderr),
    seconds,
    runtime: null,
  };
}

/** Kills the processes that the program left running, because they keep its pipes open. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
