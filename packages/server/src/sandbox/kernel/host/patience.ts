/**
 * How much longer the deadlines of a start must be on this host. Deadlines exist only to end what hangs. On a slow or busy host
 * they are multiplied by a factor: the time that a fixed piece of work takes here, divided by its time on an ordinary machine.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PERL } from '../../native/native.ts';

const run = promisify(execFile);
/** The timed work: like the start of a cell, it starts a process and computes. */
const WORK = '$sum += $_ for 1 .. 1_000_000';
/** How long the work takes on an ordinary machine. An idle machine needs a fifth of this time. */
const USUAL_MILLISECONDS = 200;
const PATIENCE_MAX = 12;
/** If the first try was late, the second try may take this many times as long. */
export const SECOND_TRY_TIMES = 2;

/** The factor for the deadlines of a start, computed from the time that the work took: a whole number from 1 to 12. */
export function patienceFor(milliseconds: number): number {
  return Math.min(PATIENCE_MAX, Math.max(1, Math.ceil(milliseconds / USUAL_MILLISECONDS)));
}

let measured: Promise<number> | null = null;

/** The factor for this host, measured once for each process. 1 if perl cannot be started. Never rejects. */
export function hostPatience(): Promise<number> {
  measured ??= measure();
  return measured;
}

async function measure(): Promise<number> {
  const started = performance.now();
  try {
    await run(PERL, ['-e', WORK], { env: {}, cwd: '/', timeout: PATIENCE_MAX * USUAL_MILLISECONDS });
  } catch (error) {
    if ((error as { killed?: boolean }).killed !== true) return 1;
  }
  return patienceFor(performance.now() - started);
}
