/**
 * Runs on a host, started by its trial unit. It runs each trial that the kernel's command line names, and writes the
 * results to the port that the machine's owner reads. A failed trial does not stop the other trials. A trial gets more
 * time if the host is slow at that moment.
 */
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { asOneself, report } from './report.ts';
import { patient, slownessOf } from './slowness.ts';
import { type Ended, TRIALS, type Trial } from './trials.ts';
import { makeUser, UNIT_FILES, type UnitRights, withinUnit } from './unit-rights.ts';

const PORT = '/dev/virtio-ports/lines';
/** Node keeps its compiled and stripped sources here. The next command then starts in half the time. */
const COMPILED = '/opt/vouchbox/node_modules/.cache/compiled';

function wordOf(name: string): string {
  return new RegExp(`(?:^| )vouchbox\\.${name}=(\\S*)`).exec(readFileSync('/proc/cmdline', 'utf8'))?.[1] ?? '';
}

function isUnit(rights: string): rights is UnitRights {
  return Object.hasOwn(UNIT_FILES, rights);
}

function attempt(trial: Trial, rights: string): Promise<Ended> {
  return isUnit(rights) && trial.needsRoot !== true ? withinUnit(trial, rights) : asOneself(trial);
}

while (!existsSync(PORT)) await delay(100);
const rights = wordOf('rights');
if (rights === 'user') makeUser();
// Trials run as several users. All of them write into these directories.
for (const directory of [COMPILED, '/opt/vouchbox/node_modules/.vite-temp']) {
  mkdirSync(directory, { recursive: true });
  chmodSync(directory, 0o1777);
}
for (const id of wordOf('trials').split(',')) {
  const trial = TRIALS.find((candidate) => candidate.id === id);
  if (trial === undefined) throw new Error(`there is no trial ${id}`);
  const quick = { ...trial, env: { NODE_COMPILE_CACHE: COMPILED, ...trial.env } };
  appendFileSync(
    PORT,
    `${JSON.stringify(await report(patient(quick, await slownessOf()), (one) => attempt(one, rights)))}\n`,
  );
}
