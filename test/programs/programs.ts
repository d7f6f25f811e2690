/**
 * `npm run programs -- [--all] [--class namespace|gvisor] [--runs FILE] [--again] [NAME…]`: runs programs that run on any
 * Linux, bare as a user without privileges and then in cells, and lists the differences. The programs are everyday
 * commands, Node's built-in modules, CPython's own test files, and some of these files in a job's own Python. `--all` takes
 * every test file instead of the chosen files. A NAME is the name of a program or the start of a name, such as
 * `cpython/test_os` or `command/`.
 *
 * `--runs FILE` writes each run to a file. A run that is already there is repeated only with `--again`. A program that
 * fails, bare or in a cell, is tried a second time, as CPython does with its tests, because a busy machine can cause a
 * failure. The command exits with 1 if a program passed bare, failed in a cell, and is not in `known-differences.json`.
 */
import { parseArgs } from 'node:util';
import { runBare } from './bare.ts';
import { COMMANDS } from './commands.ts';
import { type Compared, compareAll, isHere, type PlaceName, passed } from './compare.ts';
import { cpythonPrograms, installTestsuite, interpreterPrograms, SKIPPED } from './cpython.ts';
import { type CellRunner, CLASSES, type ClassName, openCellRunner } from './in-cell.ts';
import { knownReason } from './known-differences.ts';
import { NODE_MODULES } from './node-modules.ts';
import type { Run, TriedProgram } from './program.ts';
import { openRunsFile } from './runs-file.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    class: { type: 'string', multiple: true },
    runs: { type: 'string' },
    again: { type: 'boolean', default: false },
  },
});

interface Results {
  readonly bare: Map<string, Run>;
  readonly cells: Map<ClassName, Compared[]>;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Whether a NAME selects test files. These need not be among the chosen files. */
function isEveryTestMeant(): boolean {
  return values.all || positionals.some((wanted) => wanted.startsWith('cpython/'));
}

function chosenPrograms(): readonly TriedProgram[] {
  const every = [
    ...COMMANDS,
    ...NODE_MODULES,
    ...interpreterPrograms(),
    ...cpythonPrograms(isEveryTestMeant() ? 'all' : 'chosen'),
  ];
  const here = every.filter(isHere);
  const missing = every.filter((program) => !here.includes(program));
  if (missing.length > 0) say(`not on this host: ${missing.map(({ name }) => name).join(', ')}`);
  if (positionals.length === 0) return here;
  return here.filter(({ name }) =>
    positionals.some((wanted) => name === wanted || name.startsWith(`${wanted.replace(/\/?$/, '/')}`)),
  );
}

function chosenClasses(): readonly ClassName[] {
  const wanted = values.class ?? [...CLASSES];
  const unknown = wanted.find((name) => !CLASSES.some((known) => known === name));
  if (unknown !== undefined) throw new Error(`--class ${unknown}: the classes are ${CLASSES.join(', ')}`);
  return CLASSES.filter((name) => wanted.includes(name));
}

/** Tries a failed program a second time, unless it skipped its tests or is known to differ. */
async function tryTwice(program: TriedProgram, place: PlaceName, run: () => Promise<Run>): Promise<Run> {
  const first = await run();
  const isKnown = place !== 'bare' && knownReason(program.name, place) !== null;
  return passed(first) || isKnown || first.ended === SKIPPED ? first : await run();
}

async function tryAll(programs: readonly TriedProgram[], classes: readonly ClassName[]): Promise<Results> {
  const runs = openRunsFile(values.runs);
  const results: Results = { bare: new Map(), cells: new Map(classes.map((name) => [name, []])) };
  await using stack = new AsyncDisposableStack();
  const runners = new Map<ClassName, CellRunner>();
  for (const name of classes) runners.set(name, stack.use(await openCellRunner(name)));
  const runIn = (program: TriedProgram, place: PlaceName) =>
    place === 'bare' ? runBare(program) : (runners.get(place) as CellRunner).run(program);
  await compareAll(programs, {
    classes,
    async run(program, place) {
      const earlier = values.again ? undefined : runs.find(program.name, place);
      if (earlier !== undefined) return earlier;
      const run = await tryTwice(program, place, () => runIn(program, place));
      runs.add(program.name, place, run);
      return run;
    },
    onBare(program, run) {
      results.bare.set(program.name, run);
      say(lineOf('bare', passed(run) ? 'passes' : 'FAILS', program, run));
    },
    onCell(className, compared) {
      results.cells.get(className)?.push(compared);
      say(lineOf(className, verdictOf(className, compared), compared.program, compared.cell));
    },
  });
  return results;
}

function lineOf(place: PlaceName, verdict: string, { name }: TriedProgram, { seconds }: Run): string {
  return `${place.padEnd(9)} ${verdict.padEnd(7)} ${name} (${seconds.toFixed(1)} s)`;
}

function verdictOf(className: ClassName, { program, difference }: Compared): string {
  if (difference === null) return 'same';
  return knownReason(program.name, className) === null ? 'DIFFERS' : 'known';
}

/** Prints a line for each kind of program, and one for each difference. Returns how many differences are unknown. */
function report(className: ClassName, results: readonly Compared[]): number {
  const runtimes = new Set(results.map(({ cell }) => cell.runtime ?? 'no cell'));
  say(
    `\n${className}, held by ${[...runtimes].join(' and ')}: ${results.filter(({ difference }) => difference === null).length} of ${results.length} as bare`,
  );
  for (const kind of ['command', 'node', 'python', 'cpython']) {
    const ofKind = results.filter(({ program }) => program.name.startsWith(`${kind}/`));
    const same = ofKind.filter(({ difference }) => difference === null);
    say(`  ${kind.padEnd(8)} ${String(same.length).padStart(4)} of ${ofKind.length}`);
  }
  let unknown = 0;
  for (const { program, difference } of results.toSorted((a, b) => (a.program.name < b.program.name ? -1 : 1))) {
    const reason = knownReason(program.name, className);
    if (difference === null && reason !== null) say(`  passes now, and can leave the list: ${program.name}`);
    if (difference === null) continue;
    if (reason === null) unknown++;
    say(`  ${program.name}: ${reason === null ? difference : `known: ${reason}`}`);
  }
  return unknown;
}

installTestsuite(say);
const classes = chosenClasses();
const programs = chosenPrograms();
const results = await tryAll(programs, classes);
const failedBare = [...results.bare].filter(([, run]) => !passed(run)).toSorted(([a], [b]) => (a < b ? -1 : 1));
say(`\nbare: ${programs.length - failedBare.length} of ${programs.length} pass`);
for (const [name, run] of failedBare) say(`  ${name}: ${run.ended === SKIPPED ? 'skips all its tests' : run.ended}`);
let unknown = 0;
for (const [className, compared] of results.cells) unknown += report(className, compared);
process.exitCode = unknown === 0 ? 0 : 1;
