/**
 * `npm run hosts -- [--trials ID,…] [NAME…]`: builds each host, starts it in QEMU's own emulation, one at a time, and runs the
 * trials of `within/trials.ts` there. It writes what each showed to `observed.json`, and from that docs/HOSTS.md. Hosts
 * that are not named keep what they showed before. It exits with 1 if something did not hold.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeCheckout } from './checkout.ts';
import { HOSTS, type Host } from './host.ts';
import { runMachine } from './machine.ts';
import { keepObserved, type ObservedTrial, writeTable } from './observed.ts';
import { requireTools } from './required-tools.ts';
import { buildRoot } from './root.ts';
import type { Reported } from './within/outcome.ts';

/** Not below `node_modules`, which `npm ci` removes. */
const CACHE = join(tmpdir(), 'vouchbox-hosts');
const START_SECONDS_MAX = 300;
const SECONDS_MAX = 40 * 60;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  // Only these trials of the hosts, separated by commas: what the others showed before is kept.
  options: { trials: { type: 'string' } },
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
  return hosts.map((host) => ({ ...host, trials: wanted ?? host.trials }));
}

/** Builds and runs one host. Resolves to what it showed; a trial that it did not come to did not hold. */
async function tryHost(host: Host): Promise<readonly ObservedTrial[]> {
  const started = performance.now();
  const { architecture } = host.root;
  const root = buildRoot(host.root, CACHE);
  const work = mkdtempSync(join(CACHE, 'work-'));
  const logs = join(CACHE, 'logs', host.name);
  mkdirSync(logs, { recursive: true });
  const reported: Reported[] = [];
  try {
    const checkout = join(work, 'checkout.ext4');
    makeCheckout({
      architecture,
      isCompiled: !host.trials.includes('set-up') && architecture === 'amd64',
      cache: CACHE,
      image: checkout,
    });
    say(`  built in ${secondsSince(started)} s`);
    const onLine = (line: string): void => {
      const one = JSON.parse(line) as Reported;
      reported.push(one);
      keepObserved(host, [observedOf(one)]);
      writeFileSync(join(logs, `${one.trial}.log`), one.log);
      say(
        `  ${one.held ? 'held    ' : 'NOT HELD'} ${one.trial.padEnd(18)} ${String(one.seconds).padStart(6)} s  ${one.observed}`,
      );
    };
    const said = await runMachine({ host, root, checkout, work, secondsMax: SECONDS_MAX + START_SECONDS_MAX, onLine });
    writeFileSync(join(logs, 'console.log'), said);
  } catch (error) {
    say(`  ${(error as Error).message}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  const missing = { held: false, observed: 'not reached', seconds: 0, log: '' };
  return host.trials.map((id) => observedOf(reported.find(({ trial }) => trial === id) ?? { trial: id, ...missing }));
}

function observedOf({ trial, held, observed, seconds }: Reported): ObservedTrial {
  return { trial, held, observed, seconds, when: new Date().toISOString().slice(0, 10) };
}

function secondsSince(started: number): number {
  return Math.round((performance.now() - started) / 1000);
}

requireTools();
let isWhole = true;
for (const host of chosen()) {
  say(`${host.name}: ${host.title}`);
  const observed = await tryHost(host);
  keepObserved(host, observed);
  isWhole &&= observed.every(({ held }) => held);
}
writeTable();
process.exitCode = isWhole ? 0 : 1;
