/**
 * `npm run crash -- --kills 200 --seed 7`: kills the service at random moments under load and audits its promises. Then it
 * breaks the service at every step of a job, in each of the ways in `fault-points.ts`. `--no-sweep` leaves out the steps,
 * and `--kills 0` leaves out the kills.
 */
import { parseArgs } from 'node:util';
import { everyFaultPoint } from './fault-points.ts';
import { breakAt } from './fault-sweep.ts';
import { type RandomKills, randomKills } from './random-kills.ts';

const { values } = parseArgs({
  allowNegative: true,
  options: {
    kills: { type: 'string', default: '200' },
    sweep: { type: 'boolean', default: true },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function table(rows: Readonly<Record<string, number | string>>): void {
  const width = Math.max(...Object.keys(rows).map((name) => name.length));
  for (const [name, value] of Object.entries(rows)) say(`  ${name.padEnd(width)}  ${String(value).padStart(8)}`);
}

function rowsOf(run: RandomKills): Readonly<Record<string, number>> {
  const ends = Object.entries(run.ends).toSorted(([, one], [, other]) => other - one);
  return {
    kills: run.kills,
    'of them while it started': run.killsWhileStarting,
    'jobs promised': run.jobs,
    'answers lost on the way': run.lostAnswers,
    'cancellations promised': run.cancellations,
    ...Object.fromEntries(ends.map(([end, count]) => [`ended: ${end}`, count])),
    'programs that began, by the witness': run.ran,
    'events in chains that verify': run.events,
    'envelopes that verify': run.attested,
    'promises broken': run.problems.length,
    'left on the host': run.leftovers.length,
  };
}

async function kill(kills: number, seed: number): Promise<string[]> {
  if (kills === 0) return [];
  const begun = performance.now();
  const onKill = (count: number) => {
    if (count % 20 === 0 || count === kills) say(`  ${count} kills after ${secondsSince(begun)} s`);
  };
  say(`killing the service ${kills} times, with seed ${seed}`);
  const run = await randomKills({ kills, seed, clients: 4, jobsEach: 3, millisecondsMax: 900, onKill });
  table(rowsOf(run));
  say(
    `${kills} kills, ${run.jobs} jobs, ${run.attested} attested, ${run.problems.length} promises broken, ` +
      `${run.leftovers.length} left behind, seed ${seed}, ${secondsSince(begun)} s`,
  );
  return [...run.problems, ...run.leftovers.map((left) => `left behind: ${left}`)];
}

/** How many faults are tried at the same time, each on its own service. */
const sweepsAtOnce = 2;

async function sweep(): Promise<string[]> {
  const begun = performance.now();
  const points = everyFaultPoint();
  const failures: string[] = [];
  say(`breaking the service at each of ${points.length} points`);
  const waiting = points.values();
  const breakOne = async () => {
    for (const point of waiting) {
      const problems = await breakAt(point);
      say(`  ${problems.length === 0 ? 'kept  ' : 'BROKEN'}  ${point.step.padEnd(13)}  ${point.fault}`);
      failures.push(...problems.map((problem) => `${point.step}, ${point.fault}: ${problem}`));
    }
  };
  await Promise.all(Array.from({ length: sweepsAtOnce }, breakOne));
  say(`${points.length} points, ${failures.length} promises broken, ${secondsSince(begun)} s`);
  return failures;
}

function secondsSince(begun: number): number {
  return Math.round((performance.now() - begun) / 1000);
}

const failures = await kill(Number(values.kills), Number(values.seed));
if (values.sweep) failures.push(...(await sweep()));
for (const failure of failures) say(`PROBLEM ${failure}`);
say(failures.length === 0 ? 'every promise was kept' : `${failures.length} promises were broken`);
process.exitCode = failures.length === 0 ? 0 : 1;
