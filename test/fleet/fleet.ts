/**
 * `npm run fleet -- --minutes 5 --seed 7`: runs three nodes and a PostgreSQL server on loopback, under load. Nodes are
 * killed, cut off, and paused for longer than their leases; the database is restarted; and disks fill up. One node's clock is a
 * minute ahead. Then every promise is audited. With `--jobs N`, failures end after N jobs or after the minutes, whichever
 * comes first. Last, a newer version replaces the nodes of another store one by one.
 */
import { parseArgs } from 'node:util';
import { newSchema } from '../../packages/server/src/store/postgres/schema.fixture.ts';
import { startPostgres } from '../rig/postgres-server.ts';
import { type FleetRun, runFleet } from './fleet-run.ts';
import { type RollingUpgrade, runRollingUpgrade, upgradeProblems } from './rolling-upgrade.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    nodes: { type: 'string', default: '3' },
    jobs: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});

/** The time within which a dead node's running jobs must end. */
const recoverySecondsMax = 10;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function table(rows: Readonly<Record<string, number | string>>): void {
  const width = Math.max(...Object.keys(rows).map((name) => name.length));
  for (const [name, value] of Object.entries(rows)) say(`  ${name.padEnd(width)}  ${String(value).padStart(8)}`);
}

function rowsOf(run: FleetRun): Readonly<Record<string, number>> {
  const failures = Object.groupBy(run.failures, (failure) => failure);
  return {
    ...Object.fromEntries(Object.entries(failures).map(([failure, each]) => [`failure: ${failure}`, each.length])),
    'jobs promised': run.jobs,
    'answers lost on the way': run.lostAnswers,
    ...Object.fromEntries(
      Object.entries(run.refusals).map(([refusal, count]) => [`in place of a job: ${refusal}`, count]),
    ),
    ...Object.fromEntries(Object.entries(run.ends).map(([end, count]) => [`ended: ${end}`, count])),
    'programs that began, by the witness': run.ran,
    'programs that began twice': run.ranTwice,
    'streams followed to their ends': run.followed,
    'times that one went on elsewhere': run.resumed,
    'events in chains that verify': run.events,
    'envelopes that verify': run.attested,
    'longest recovery in seconds': run.recoverySeconds,
    'promises broken': run.problems.length,
    'left on the host': run.leftovers.length,
  };
}

async function upgraded(): Promise<RollingUpgrade> {
  await using server = await startPostgres();
  return await runRollingUpgrade({ databaseUrl: await newSchema(server.url) });
}

const [nodes, seed, minutes] = [Number(values.nodes), Number(values.seed), Number(values.minutes)];
say(`${nodes} nodes, ${minutes} minutes, seed ${seed}`);
const run = await runFleet({
  nodes,
  seed,
  milliseconds: minutes * 60_000,
  jobsMax: Number(values.jobs),
  clients: 8,
  clockShiftMilliseconds: 60_000,
  onFailure: (failure) => say(`  ${failure}`),
  onRecovery: (seconds) => say(`    its jobs were taken over after ${seconds.toFixed(1)} s`),
});
table(rowsOf(run));
const problems = [...run.problems, ...run.leftovers.map((left) => `left behind: ${left}`)];
if (run.attested !== run.jobs) problems.push(`${run.attested} of ${run.jobs} jobs are attested`);
if (run.recoverySeconds > recoverySecondsMax) problems.push(`a recovery took ${run.recoverySeconds} s`);
const upgrade = await upgraded();
table({ 'jobs promised during an upgrade': upgrade.jobs, 'envelopes that verify': upgrade.attested });
problems.push(...upgradeProblems(upgrade), ...upgrade.leftovers.map((left) => `left behind: ${left}`));
for (const problem of problems) say(`PROBLEM ${problem}`);
say(problems.length === 0 ? 'every promise was kept' : `${problems.length} promises were broken`);
process.exitCode = problems.length === 0 ? 0 : 1;
