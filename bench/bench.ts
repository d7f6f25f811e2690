/**
 * `npm run bench -- [NAME…] [--seconds N] [--only TEXT] [--nodes N] [--sync-ms N] [--long] [--json FILE] [--write]`: runs
 * measurements, each with its baseline in the same run, so that figures can be compared on any machine. Without a name, all of
 * them run, one after the other. They are not tests: none fails because it is slow. `--json` writes a report. `--write` writes
 * the tables into `docs/BENCHMARKS.md`, but those of `fleet` into `docs/SCALING.md`. `--long` runs the long form, `--nodes` runs
 * fleets of up to this many nodes, and `--sync-ms` measures as on a disk whose syncs take this many milliseconds.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { AttackOptions } from './attacks.ts';
import { type Measurement, rowOf } from './measurement.ts';
import { reportOf, thisMachine, writeDocuments } from './report.ts';
import { runWithSlowSyncs, slowSyncMilliseconds } from './slow-syncs.ts';

interface Bench {
  /** `seconds` is how long each attack runs. `only` chooses among attacks, and among the figures of http and speed. */
  measure(
    options: AttackOptions & { readonly isLong: boolean; readonly nodes: number | undefined },
  ): AsyncIterable<Measurement> | Promise<readonly Measurement[]>;
}

/** Each name, and the module that measures it. */
const BENCHES: Readonly<Record<string, () => Promise<Bench>>> = {
  jobs: () => import('./jobs.ts'),
  isolation: () => import('./isolation.ts'),
  http: () => import('./http.ts'),
  evidence: () => import('./evidence.ts'),
  attacks: () => import('./attacks.ts'),
  speed: () => import('./speed.ts'),
  cells: () => import('./cells.ts'),
  constructs: () => import('./constructs.ts'),
  fleet: () => import('./fleet.ts'),
  judging: () => import('./judging.ts'),
  bursts: () => import('./bursts.ts'),
  log: () => import('./log.ts'),
  tools: () => import('./tools.ts'),
};

function say(line = ''): void {
  process.stdout.write(`${line}\n`);
}

const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string' },
    only: { type: 'string' },
    nodes: { type: 'string' },
    'sync-ms': { type: 'string' },
    long: { type: 'boolean', default: false },
    json: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const options = {
  only: values.only,
  isLong: values.long,
  nodes: values.nodes === undefined ? undefined : Number(values.nodes),
  seconds: values.seconds === undefined ? undefined : Number(values.seconds),
};
const syncMilliseconds = Number(values['sync-ms'] ?? 0);
const unknown = wanted.filter((name) => !Object.hasOwn(BENCHES, name));
if (unknown.length > 0) {
  process.stderr.write(`bench: ${unknown.join(', ')}: there are ${Object.keys(BENCHES).join(', ')}\n`);
  process.exitCode = 2;
} else if (
  values['sync-ms'] !== undefined &&
  (!(syncMilliseconds >= 0.001 && syncMilliseconds <= 1000) || values.write)
) {
  process.stderr.write(
    'bench: --sync-ms must be from 0.001 to 1000, and not with --write: the documents show real disks\n',
  );
  process.exitCode = 2;
} else if (syncMilliseconds > 0 && slowSyncMilliseconds === 0) {
  process.exitCode = runWithSlowSyncs(syncMilliseconds);
} else {
  const { cores, kernel, processor, sync_ms } = thisMachine();
  say(`Node ${process.version}, ${kernel}, ${cores} cores: ${processor}`);
  if (sync_ms > 0) say(`each sync of a file takes at least ${sync_ms} ms`);
  const benches = new Map<string, Measurement[]>();
  for (const [name, load] of Object.entries(BENCHES)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    say(`\n${name}`);
    const measurements: Measurement[] = [];
    benches.set(name, measurements);
    for await (const measurement of await (await load()).measure(options)) {
      measurements.push(measurement);
      say(rowOf(measurement));
    }
  }
  const report = reportOf(benches);
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
  if (values.write) writeDocuments(report);
}
