/** Runs one trial, and returns what it showed. A failed trial does not stop the other trials. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Reported } from './outcome.ts';
import type { Ended, Trial } from './trials.ts';

const LOG_CHARS_MAX = 400_000;
/** Node's compiled code sometimes crashes in QEMU's emulation. The trial then runs again, and its row says so. */
const CRASH =
  /^(?:ended by SIGSEGV|Segmentation fault|# Fatal error in )|exited unexpectedly with signal SIG(?:SEGV|TRAP)/m;

/** @param attempt runs the trial's command */
export async function report(trial: Trial, attempt: (trial: Trial) => Promise<Ended>): Promise<Reported> {
  const started = performance.now();
  const first = await attempt(trial);
  const isCrash = CRASH.test(first.output);
  const ended = isCrash ? await attempt(trial) : first;
  const seconds = Math.round((performance.now() - started) / 100) / 10;
  const log = ended.output.slice(-LOG_CHARS_MAX);
  if (ended.code === null)
    return { trial: trial.id, held: false, observed: `not over after ${trial.secondsMax} s`, seconds, log };
  const { held, observed } = trial.judge(ended);
  const said = isCrash ? `${observed}; on the second try, since Node crashed in the first` : observed;
  return { trial: trial.id, held, observed: said, seconds, log };
}

/** Runs the trial with this process's rights. */
export async function asOneself({ command, env = {}, secondsMax }: Trial): Promise<Ended> {
  const [first = '', ...rest] = command;
  const child = spawn(first, rest, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    process.kill(-(child.pid as number), 'SIGKILL');
  }, secondsMax * 1000);
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  clearTimeout(timer);
  return { code: isLate ? null : (code ?? signal), output: signal === null ? output : `${output}\nended by ${signal}` };
}
