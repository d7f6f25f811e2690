/**
 * `npm run hosts -- [--trials ID,…] [--rest] [--at-once N] [NAME…]`: builds each host, starts it in QEMU's own emulation,
 * two at a time, and runs the trials of `within/trials.ts` there. It writes what each trial showed to `observed.json` as soon
 * as it is over, and docs/HOSTS.md from that. What was not tried keeps what it showed before, so a run that was cut off goes
 * on with `--rest`, which tries what has not held yet. It exits with 1 if a trial of these hosts did not hold or was not
 * reached.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeCheckout } from './checkout.ts';
import { HOSTS, type Host } from './host.ts';
import { runMachine } from './machine.ts';
import { hasHeld, keepObserved, type ObservedTrial, writeTable } from './observed.ts';
import { requireTools } from './required-tools.ts';
import { buildRoot } from './root.ts';
import type { Reported } from './within/outcome.ts';

/** Not below `node_modules`, which `npm ci` removes. */
const CACHE = join(tmpdir(), 'vouchbox-hosts');
const START_SECONDS_MAX = 300;
/** Only ends what hangs: trials have bounds of their own. */
const SECONDS_MAX = 90 * 60;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  // Only these trials of the hosts, separated by commas: what the others showed before is kept.
  // `rest`: only those that have not held yet.
  // `at-once`: machines. One alone leaves processors idle, since most of a trial is one thing after another.
  options: {
    trials: { type: 'string' },
    rest: { type: 'boolean', default: false },
    'at-once': { type: 'string', default: '2' },
  },
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function chosen(): readonly Host[] {
  const unknown = positionals.find((name) => HOSTS.every((host) => host.name !== name));
  if (unknown !== undefined) {
    throw new Error(`there is no host ${unknown}: take ${HOSTS.map(({ name }) => name).join(', ')}`);
  }
  const hosts = HOSTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const wanted = values.trials?.split(',');
  return hosts
    .map((host) => ({ ...host, trials: wanted ?? host.trials }))
    .map((host) => (values.rest ? { ...host, trials: host.trials.filter((id) => !hasHeld(host, id)) } : host))
    .filter(({ trials }) => trials.length > 0);
}

/** Builds and runs one host. Resolves to whether every trial held; one that it did not come to did not hold. */
async function tryHost(host: Host): Promise<boolean> {
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
    });
    say(`${host.name} built in ${secondsSince(started)} s`);
    const onLine = (line: string): void => {
      const one = JSON.parse(line) as Reported;
      if (one.held) held.add(one.trial);
      keepObserved(host, [observedOf(one)]);
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
  for (const id of host.trials.filter((trial) => !held.has(trial))) say(`${host.name} not held or not reached: ${id}`);
  say(`${host.name} ${secondsSince(started)} s in all`);
  return host.trials.every((id) => held.has(id));
}

function lineOf({ name }: Host, { held, trial, seconds, observed }: Reported): string {
  return `${name} ${held ? 'held    ' : 'NOT HELD'} ${trial.padEnd(18)} ${String(seconds).padStart(6)} s  ${observed}`;
}

function observedOf({ trial, held, observed, seconds }: Reported): ObservedTrial {
  return { trial, held, observed, seconds, when: new Date().toISOString().slice(0, 10) };
}

function secondsSince(started: number): number {
  return Math.round((performance.now() - started) / 1000);
}

/** Takes hosts until none is left. Resolves to whether every trial held on each of them. */
async function tryHosts(left: Host[]): Promise<boolean> {
  let isWhole = true;
  for (let host = left.shift(); host !== undefined; host = left.shift()) {
    say(`${host.name}: ${host.title}`);
    isWhole = (await tryHost(host)) && isWhole;
  }
  return isWhole;
}

requireTools();
const started = performance.now();
const left = [...chosen()];
const results = await Promise.all(Array.from({ length: Number(values['at-once']) }, () => tryHosts(left)));
writeTable();
say(`${secondsSince(started)} s in all`);
process.exitCode = results.every(Boolean) ? 0 : 1;
