/** Runs `probe.pl`: one control, tried by a process of its own. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { PERL } from '../output/pipes.ts';

const PROBE = fileURLToPath(new URL('./probe.pl', import.meta.url));
const PROBE_MILLISECONDS_MAX = 10_000;

/** How a probe ended. */
export interface Probed {
  /** The line it printed, or what it printed of why it could not go on. */
  readonly said: string;
  readonly ok: boolean;
  /** The signal that ended it; null where it ended by itself. */
  readonly signal: string | null;
}

/** Starts a probe, in the groups whose files for joining are given, and waits for its end. */
export async function probe(words: readonly string[], joinFiles: readonly string[] = []): Promise<Probed> {
  const child = startProbe(words, joinFiles);
  const ended = new Promise<[number | null, string | null]>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve([code, signal]));
  });
  const [[code, signal], output, errors] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { said: (output || errors).trim(), ok: code === 0, signal };
}

/** A probe that goes on until it is killed, and no longer than ten seconds. */
export function startProbe(words: readonly string[], joinFiles: readonly string[]) {
  return spawn(PERL, [PROBE, ...joinFiles, '--', ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {},
    cwd: '/',
    timeout: PROBE_MILLISECONDS_MAX,
    killSignal: 'SIGKILL',
  });
}

/** What a probe said. @throws Error with what went wrong */
export async function probed(...words: readonly string[]): Promise<string> {
  const { said, ok, signal } = await probe(words);
  if (!ok) throw new Error(said || `the trial was ended by ${signal ?? 'an error'}`);
  return said;
}
