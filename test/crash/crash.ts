/**
 * `npm run crash -- --kills 200`: kills the service at random moments under load and audits what it promised, then breaks
 * every write of one job, one after another, in each of the ways of `fault-sweep.ts`. `--no-sweep` leaves that out.
 */
import { parseArgs } from 'node:util';
import { breakAt, countCalls, FAULTS, type Fault } from './fault-sweep.ts';
import { randomKills } from './random-kills.ts';

const { values } = parseArgs({
  allowNegative: true,
  options: {
    kills: { type: 'string', default: '200' },
    sweep: { type: 'boolean', default: true },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});
const kills = Number(values.kills);
const seed = Number(values.seed);
process.stdout.write(`killing the service ${kills} times, with seed ${seed}\n`);
const onKill = (count: number) => {
  if (count % 20 === 0 || count === kills) process.stdout.write(`  ${count} kills\n`);
};
const run = await randomKills({ kills, seed, clients: 4, jobsEach: 3, millisecondsMax: 900, onKill });
const outcomes = Object.entries(run.statuses).map(([status, count]) => `${count} ${status}`);
process.stdout.write(
  `${run.jobs} jobs promised, ${run.lostAnswers} answers lost on the way; ${outcomes.join(', ')}; ${run.attested} attested\n`,
);
const failures = [...run.problems, ...run.leftovers.map((left) => `left behind: ${left}`)];
if (values.sweep) failures.push(...(await sweep()));
for (const failure of failures) process.stdout.write(`PROBLEM ${failure}\n`);
const verdict = failures.length === 0 ? 'every promise was kept' : `${failures.length} promises were broken`;
process.stdout.write(`${verdict}\n`);
process.exitCode = failures.length === 0 ? 0 : 1;

async function sweep(): Promise<string[]> {
  const problems: string[] = [];
  for (const fault of Object.keys(FAULTS) as Fault[]) {
    const { inAll } = await countCalls(FAULTS[fault].call);
    process.stdout.write(`${fault}, at each of ${inAll} calls\n`);
    for (let n = 1; n <= inAll; n++) {
      problems.push(...(await breakAt(fault, n)).map((problem) => `${fault} at call ${n}: ${problem}`));
    }
  }
  return problems;
}
