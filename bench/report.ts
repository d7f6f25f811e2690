/**
 * Reports the results of a bench run, with the machine and the targets, as JSON for programs and as tables for readers.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { format, type Measurement, withUnit } from './measurement.ts';
import { slowSyncMilliseconds } from './slow-syncs.ts';

export interface Report {
  readonly schema: 'svc.bench.v1';
  readonly measured_at: string;
  readonly machine: Machine;
  /** How many processes on average ran or waited for a core in the minute before the run. */
  readonly load_before: number;
  /** Measurements in the order in which they were made, keyed by the name of their bench. */
  readonly benches: Readonly<Record<string, readonly ReportedMeasurement[]>>;
}

export interface Machine {
  readonly cores: number;
  readonly memory_mb: number;
  readonly kernel: string;
  readonly processor: string;
  /** The least number of milliseconds that a file's sync takes, from `--sync-ms`; 0 if only the disk decides. */
  readonly sync_ms: number;
  /** The version that each program states; null if it is not installed. */
  readonly versions: Readonly<Record<string, string | null>>;
}

interface ReportedMeasurement extends Measurement {
  readonly ratio: number | null;
  /** Whether the target was met; null if there is no target. */
  readonly held: boolean | null;
}

const loadBefore = loadavg()[0] ?? 0;

const PROGRAMS = {
  node: [process.execPath, '--version'],
  python: ['/usr/bin/python3', '--version'],
  bash: ['/bin/bash', '--version'],
  crun: ['crun', '--version'],
  runsc: ['runsc', '--version'],
} as const;

/** The machine on which this runs. */
export function thisMachine(): Machine {
  const versions = Object.entries(PROGRAMS).map(([name, command]) => [name, versionOf(command)] as const);
  return {
    cores: availableParallelism(),
    memory_mb: Math.round(totalmem() / 2 ** 20),
    kernel: /^[\d.]+/.exec(release())?.[0] ?? release(),
    processor: cpus()[0]?.model ?? 'unknown',
    sync_ms: slowSyncMilliseconds,
    versions: Object.fromEntries(versions),
  };
}

function versionOf([file, ...words]: readonly [string, ...string[]]): string | null {
  try {
    const said = execFileSync(file, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return /\d[\w.~+-]*/.exec(said)?.[0] ?? null;
  } catch {
    return null;
  }
}

export function reportOf(benches: ReadonlyMap<string, readonly Measurement[]>): Report {
  const reported = [...benches].map(([name, measurements]) => [name, measurements.map(withVerdict)] as const);
  return {
    schema: 'svc.bench.v1',
    measured_at: new Date().toISOString(),
    machine: thisMachine(),
    load_before: loadBefore,
    benches: Object.fromEntries(reported),
  };
}

function withVerdict(measurement: Measurement): ReportedMeasurement {
  return { ...measurement, ratio: ratioOf(measurement), held: isHeld(measurement) };
}

function ratioOf({ value, baseline }: Measurement): number | null {
  return baseline.value > 0 ? value / baseline.value : null;
}

function isHeld(measurement: Measurement): boolean | null {
  const { target, value, valueMax } = measurement;
  if (target === undefined) return valueMax === undefined ? null : value <= valueMax;
  const ratio = ratioOf(measurement);
  if (ratio === null) return null;
  return target.is === 'at most' ? ratio <= target.ratio : ratio >= target.ratio;
}

interface ReportDocument {
  readonly path: string;
  /** The command that writes the document's tables. */
  readonly command: string;
}

const BENCHMARKS: ReportDocument = { path: '../docs/BENCHMARKS.md', command: 'npm run bench -- speed --long --write' };
/** Benches whose tables are not in `docs/BENCHMARKS.md`. */
const ELSEWHERE: Readonly<Record<string, ReportDocument>> = {
  fleet: { path: '../docs/SCALING.md', command: 'npm run bench -- fleet --write' },
};
const END = '<!-- Up to here. -->';

/** Puts each table of a report in its place in the documents, between two marks. The rest is unchanged. */
export function writeDocuments(report: Report): void {
  const documents = Map.groupBy(Object.entries(report.benches), ([name]) => ELSEWHERE[name] ?? BENCHMARKS);
  for (const [document, benches] of documents) {
    writeTables(document, tablesOf({ ...report, benches: Object.fromEntries(benches) }));
  }
}

function writeTables({ path: ofDocument, command }: ReportDocument, tables: string): void {
  const path = fileURLToPath(new URL(ofDocument, import.meta.url));
  const begin = `<!-- Written by \`${command}\`: the next run replaces it. -->`;
  const [before, rest] = readFileSync(path, 'utf8').split(begin);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`${path} has no place for the tables`);
  writeFileSync(path, `${before}${begin}\n\n${tables}\n${END}${after}`);
}

function tablesOf({ measured_at, machine, load_before, benches }: Report): string {
  const { cores, memory_mb, kernel, processor, versions } = machine;
  const programs = Object.entries(versions).map(([name, version]) => `${name} ${version ?? 'not there'}`);
  const host = `${cores} cores (${processor}) with ${memory_mb} MiB, Linux ${kernel}`;
  const before = `In the minute before, ${format(load_before)} processes on average ran or waited for a core.`;
  const head = `Measured on ${measured_at.slice(0, 10)} on ${host}.\n${before}\nPrograms: ${programs.join(', ')}.`;
  const tables = Object.values(benches).map((measurements) =>
    // Measurements without a target are only in the JSON.
    [...TABLE_HEAD, ...measurements.filter(({ held }) => held !== null).map(tableRow)].join('\n'),
  );
  return `${head}\n\n${tables.join('\n\n')}\n`;
}

const TABLE_HEAD = ['| figure | measured | beside | ratio | target | held |', '|---|---|---|---|---|---|'];

function tableRow(measurement: ReportedMeasurement): string {
  const { what, value, unit, spread, baseline, ratio, held } = measurement;
  const rounds = spread === undefined ? '' : ` [${format(spread[0])}–${format(spread[1])}]`;
  const cells = [
    what.trim(),
    `${withUnit(format(value), unit)}${rounds}`,
    `${baseline.what}: ${withUnit(format(baseline.value), unit)}`,
    ratio === null ? '' : ratio.toFixed(2),
    targetOf(measurement),
    held === null ? '' : held ? 'yes' : '**no**',
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function targetOf({ target, valueMax, unit }: Measurement): string {
  if (target !== undefined) return `${target.is === 'at most' ? '≤' : '≥'} ${target.ratio}`;
  return valueMax === undefined ? '' : `≤ ${withUnit(`${valueMax}`, unit)}`;
}
