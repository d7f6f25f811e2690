/**
 * `npm run hosts -- [--trials ID,…] [--rest] [--long] [--at-once N] [NAME…]`: builds each host, starts it in QEMU's own
 * emulation, two at a time, and runs the trials in `within/trials.ts` there. It writes the result of each trial to
 * `observed.json` as soon as the trial is over, and makes docs/HOSTS.md from this file. Earlier results of other trials stay. So
 * `--rest` continues a run that was cut off: it runs the trials that have not held yet. At the end, the command prints a line for
 * each host and the whole time. It exits with 1 if a trial on these hosts did not hold or was not reached.
 *
 * `--here NAME` runs the trials on this machine instead, as this user, and prints their results. `--paste NAME FILE` stores
 * results that `--here` printed on another machine.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeCheckout } from './checkout.ts';
import { containerArchive } from './container-archive.ts';
import { pasteReport, reportHere } from './here.ts';
import { HOSTS, type Host, OTHER_HOSTS } from './host.ts';
import { runMachine } from './machine.ts';
import { newcomersPackages } from './newcomers-packages.ts';
import { keepObserved, observedOf, today, writeTable } from './observed.ts';
import { planOf } from './plan.ts';
import { requireTools } from './required-tools.ts';
import { buildRoot } from './root.ts';
import type { Reported } from './within/outcome.ts';
import { TRIALS } from './within/trials.ts';

/** The cache is not below `node_modules`, because `npm ci` removes that directory. */
const CACHE = join(tmpdir(), 'vouchbox-hosts');
const START_SECONDS_MAX = 300;
/** This timeout only ends a machine that hangs, because each trial has its own timeout. */
const SECONDS_MAX = 90 * 60;

const USAGE = `npm run hosts -- [--trials ID,…] [--rest] [--long] [--at-once N] [NAME…]
  --trials ID,…  only these trials: what the others showed before is kept
  --rest         only those that have not held yet
  --long         also those that take longest
  --at-once N    machines at a time (2): one alone leaves processors idle
  --here NAME          try this machine, as this user: the report is on stdout
  --paste NAME FILE    keep such a report
  names:  ${HOSTS.map(({ name }) => name).join(', ')}
  names of machines that are not made here: ${OTHER_HOSTS.map(({ name }) => name).join(', ')}
  trials: ${TRIALS.map(({ id }) => id).join(', ')}`;

function wordsGiven() {
  return parseArgs({
    allowPositionals: true,
    options: {
      trials: { type: 'string' },
      rest: { type: 'boolean', default: false },
      long: { type: 'boolean', default: false },
      'at-once': { type: 'string', default: '2' },
      here: { type: 'string' },
      paste: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
}

/** Prints the usage and ends the process, if the usage is requested or an argument is not understood. */
function wordsOrUsage(): ReturnType<typeof wordsGiven> {
  try {
    const words = wordsGiven();
    if (!words.values.help) return words;
    say(USAGE);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${USAGE}\n`);
    process.exit(2);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The results of one host. */
interface Tried {
  readonly host: Host;
  /** Ids of the trials that did not hold, or were not reached. */
  readonly missed: readonly string[];
  readonly seconds: number;
}

/** The files that the host gets besides the checkout. */
async function givenTo({ given }: Host): Promise<readonly string[]> {
  if (given === 'image') return [containerArchive(CACHE)];
  return given === 'packages' ? [await newcomersPackages(CACHE)] : [];
}

/** Builds and runs one host. */
async function tryHost(host: Host): Promise<Tried> {
  const started = performance.now();
  const { architecture } = host.root;
  const root = buildRoot(host.root, CACHE);
  const work = mkdtempSync(join(CACHE, 'work-'));
  const logs = join(CACHE, 'logs', host.name);
  mkdirSync(logs, { recursive: true });
  const held = new Set<string>();
  try {
    const checkout = join(work, 'checkout.ext4');
    makeCheckout({
      architecture,
      isCompiled: !host.trials.includes('set-up') && architecture === 'amd64',
      cache: CACHE,
      image: checkout,
      also: await givenTo(host),
    });
    say(`${host.name} built in ${secondsSince(started)} s`);
    const onLine = (line: string): void => {
      const one = JSON.parse(line) as Reported;
      if (one.held) held.add(one.trial);
      keepObserved(host, [observedOf(one, today())]);
      writeTable();
      writeFileSync(join(logs, `${one.trial}.log`), one.log);
      say(lineOf(host, one));
    };
    const said = await runMachine({ host, root, checkout, work, secondsMax: SECONDS_MAX + START_SECONDS_MAX, onLine });
    writeFileSync(join(logs, 'console.log'), said);
  } catch (error) {
    say(`${host.name} ${(error as Error).message}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  const tried = { host, missed: host.trials.filter((id) => !held.has(id)), seconds: secondsSince(started) };
  say(endOf(tried));
  return tried;
}

/** The line about a host at the end of a run. */
function endOf({ host, missed, seconds }: Tried): string {
  const count = host.trials.length;
  const rest = missed.length === 0 ? '' : `; not held, or not reached: ${missed.join(', ')}`;
  return `${host.name.padEnd(20)} ${count - missed.length} of ${count} trials held in ${seconds} s${rest}`;
}

function lineOf({ name }: Host, { held, trial, seconds, observed }: Reported): string {
  return `${name} ${held ? 'held    ' : 'NOT HELD'} ${trial.padEnd(18)} ${String(seconds).padStart(6)} s  ${observed}`;
}

function secondsSince(started: number): number {
  return Math.round((performance.now() - started) / 1000);
}

/** Takes hosts from the list and tries them, until the list is empty. */
async function tryHosts(left: Host[]): Promise<readonly Tried[]> {
  const tried: Tried[] = [];
  for (let host = left.shift(); host !== undefined; host = left.shift()) {
    say(`${host.name}: ${host.title}`);
    tried.push(await tryHost(host));
  }
  return tried;
}

const { values, positionals } = wordsOrUsage();
if (values.here !== undefined) process.exit(await reportHere(values.here));
if (values.paste !== undefined) {
  pasteReport(values.paste, positionals[0] ?? '');
  process.exit(0);
}
requireTools();
const started = performance.now();
const left = [...planOf(positionals, { trials: values.trials?.split(','), isRest: values.rest, isLong: values.long })];
const tried = (await Promise.all(Array.from({ length: Number(values['at-once']) }, () => tryHosts(left)))).flat();
writeTable();
say(['', ...tried.map(endOf), `${secondsSince(started)} s in all`].join('\n'));
process.exitCode = tried.every(({ missed }) => missed.length === 0) ? 0 : 1;
