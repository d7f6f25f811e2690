/** Runs the trials on this machine, and stores reports from machines on which somebody else ran them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OTHER_HOSTS, type OtherHost } from './host.ts';
import { keepObserved, type ObservedTrial, observedOf, today, writeTable } from './observed.ts';
import { asOneself, report } from './within/report.ts';
import { TRIALS } from './within/trials.ts';

const BIN = join(import.meta.dirname, '../../node_modules/.bin');
const CHARS_MAX = 2000;

/** @throws Error that names the known machines */
function hostNamed(name: string): OtherHost {
  const found = OTHER_HOSTS.find((host) => host.name === name);
  if (found !== undefined) return found;
  throw new Error(`there is no machine ${name}: take ${OTHER_HOSTS.map((host) => host.name).join(', ')}`);
}

/** Prints what each trial shows as one line of JSON. Resolves to 1 if a trial did not hold. */
export async function reportHere(name: string): Promise<number> {
  const { trials } = hostNamed(name);
  const env = { PATH: `${BIN}:${process.env['PATH']}` };
  let code = 0;
  for (const trial of TRIALS.filter(({ id }) => trials.includes(id))) {
    const reported = await report({ ...trial, env: { ...env, ...trial.env } }, asOneself);
    process.stdout.write(`${JSON.stringify(observedOf(reported, today()))}\n`);
    process.stderr.write(`${reported.held ? 'held' : 'NOT HELD'}: ${trial.title}\n`);
    if (!reported.held) code = 1;
  }
  return code;
}

/** Stores the report in this file as the results for the named machine. */
export function pasteReport(name: string, file: string): void {
  const host = hostNamed(name);
  keepObserved(host, reportedIn(readFileSync(file, 'utf8'), host));
  writeTable();
}

/** @throws Error if a line is not what `--here` prints for this machine */
export function reportedIn(text: string, { trials }: OtherHost): readonly ObservedTrial[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const { trial, held, observed, seconds, when } = JSON.parse(line) as ObservedTrial;
      const isWhole = typeof held === 'boolean' && typeof seconds === 'number' && /^\d{4}-\d\d-\d\d$/.test(when);
      if (!trials.includes(trial) || !isWhole || typeof observed !== 'string') {
        throw new Error(`this is no line of a report: ${line.slice(0, 200)}`);
      }
      // Anybody may have written this text. It becomes one cell of a table on a page.
      return { trial, held, observed: observed.replaceAll(/[\n<>]/g, ' ').slice(0, CHARS_MAX), seconds, when };
    });
}
