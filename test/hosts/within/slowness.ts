/** Measures how slow a host is, and gives its trials enough time, so that no trial fails only because the machine is busy. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Trial } from './trials.ts';

const run = promisify(execFile);
/** The fixed piece of work. A real machine without other work needs 40 ms for it, and an emulated machine about 500 ms. */
const WORK = ['-e', '$sum += $_ for 1 .. 1_000_000'];
const REAL_MILLISECONDS = 40;
/** The time limits in `trials.ts` are for a machine that is this many times slower than a real machine. */
const USUAL = 12;
const SLOWNESS_MAX = 100;
/** How many times slower this machine is than a real one, measured by a fixed piece of work: a whole number from 1 to 100. */
export async function slownessOf(): Promise<number> {
  const started = performance.now();
  await run('perl', WORK);
  const times = Math.ceil((performance.now() - started) / REAL_MILLISECONDS);
  return Math.min(SLOWNESS_MAX, Math.max(1, times));
}

/** Gives the trial more time if the machine is slower than the usual emulated machine, and tells the trial's tests the factor. */
export function patient(trial: Trial, slowness: number): Trial {
  return {
    ...trial,
    secondsMax: Math.round(trial.secondsMax * Math.max(1, slowness / USUAL)),
    env: { HOSTILE_PATIENCE: String(Math.max(USUAL, slowness)), ...trial.env },
  };
}
