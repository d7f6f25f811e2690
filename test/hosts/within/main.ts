/**
 * Runs on a host, started by its trial unit: makes each trial that the kernel's command line names, and writes what it
 * showed to the port that the machine's owner reads. Nothing that a trial does stops the others. Each gets time by how
 * slow the host is just then.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Reported } from './outcome.ts';
import { patient, slownessOf } from './slowness.ts';
import { type Ended, TRIALS, type Trial } from './trials.ts';
import { makeUser, UNIT_FILES, type UnitRights, withinUnit } from './unit-rights.ts';

const PORT = '/dev/virtio-ports/lines';
const LOG_CHARS_MAX = 400_000;
/** Node's compiled code sometimes crashes in QEMU's emulation. The row says that it did. */
const CRASH =
  /^(?:ended by SIGSEGV|Segmentation fault|# Fatal error in )|exited unexpectedly with signal SIG(?:SEGV|TRAP)/m;
/** Node keeps its compiled and stripped sources here for the next command, whose start then takes half the time. */
const COMPILED = '/opt/vouchbox/node_modules/.cache/compiled';

function wordOf(name: string): string {
  return new RegExp(`(?:^| )vouchbox\\.${name}=(\\S*)`).exec(readFileSync('/proc/cmdline', 'utf8'))?.[1] ?? '';
}

function isUnit(rights: string): rights is UnitRights {
  return Object.hasOwn(UNIT_FILES, rights);
}

function attempt(trial: Trial, rights: string): Promise<Ended> {
  return isUnit(rights) && trial.needsRoot !== true ? withinUnit(trial, rights) : asRoot(trial);
}

async function report(trial: Trial, rights: string): Promise<Reported> {
  const started = performance.now();
  const first = await attempt(trial, rights);
  const isCrash = CRASH.test(first.output);
  const ended = isCrash ? await attempt(trial, rights) : first;
  const seconds = Math.round((performance.now() - started) / 100) / 10;
  const log = ended.output.slice(-LOG_CHARS_MAX);
  if (ended.code === null)
    return { trial: trial.id, held: false, observed: `not over after ${trial.secondsMax} s`, seconds, log };
  const { held, observed } = trial.judge(ended);
  const said = isCrash ? `${observed}; on the second try, since Node crashed in the first` : observed;
  return { trial: trial.id, held, observed: said, seconds, log };
}

async function asRoot({ command, env = {}, secondsMax }: Trial): Promise<Ended> {
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

while (!existsSync(PORT)) await delay(100);
const rights = wordOf('rights');
if (rights === 'user') makeUser();
mkdirSync(COMPILED, { recursive: true });
// Trials run as several users, each of whom has a directory of their own there.
chmodSync(COMPILED, 0o1777);
for (const id of wordOf('trials').split(',')) {
  const trial = TRIALS.find((candidate) => candidate.id === id);
  if (trial === undefined) throw new Error(`there is no trial ${id}`);
  const quick = { ...trial, env: { NODE_COMPILE_CACHE: COMPILED, ...trial.env } };
  appendFileSync(PORT, `${JSON.stringify(await report(patient(quick, await slownessOf()), rights))}\n`);
}
