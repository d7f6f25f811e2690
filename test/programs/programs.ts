/**
 * `npm run programs -- [--all] [--class namespace|gvisor] [NAME…]`: runs programs that any Linux runs, bare as a user
 * without privileges and then in cells, and shows what differs. CPython's own test files, everyday commands and Node's
 * built-in modules; `--all` takes every test file of CPython instead of those that were chosen, and a NAME is the name of a
 * program or the start of one, such as `cpython/test_os` or `command/`. It ends with 1 where a program that passed bare did
 * not pass in a cell and is not in `known-differences.json`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { COMMANDS } from './commands.ts';
import { type Compared, compareAll, isHere, passed, runAllBare } from './compare.ts';
import { cpythonPrograms, TESTSUITE_PACKAGE } from './cpython.ts';
import { CLASSES, type ClassName, openCellRunner } from './in-cell.ts';
import { knownReason } from './known-differences.ts';
import { NODE_MODULES } from './node-modules.ts';
import type { Run, TriedProgram } from './program.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false }, class: { type: 'string', multiple: true } },
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** What the host lacks is installed where that can be done, and named where it cannot. */
function install(): void {
  if (cpythonPrograms('all').length > 0) return;
  const command = ['apt-get', 'install', '-y', '--no-install-recommends', TESTSUITE_PACKAGE];
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) {
    say(`CPython's tests are left out: on Debian, as root, \`${command.join(' ')}\` brings them.`);
    return;
  }
  say(`+ ${command.join(' ')}`);
  execFileSync('/usr/bin/apt-get', command.slice(1), { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Whoever names a test file means that one, whether it was chosen or not. */
function isEveryTestMeant(): boolean {
  return values.all || positionals.some((wanted) => wanted.startsWith('cpython/'));
}

function chosenPrograms(): readonly TriedProgram[] {
  const every = [...COMMANDS, ...NODE_MODULES, ...cpythonPrograms(isEveryTestMeant() ? 'all' : 'chosen')];
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

async function tryClass(
  className: ClassName,
  programs: readonly TriedProgram[],
  bareRuns: ReadonlyMap<string, Run>,
): Promise<readonly Compared[]> {
  await using cells = await openCellRunner(className);
  return await compareAll(programs, bareRuns, {
    cells,
    onRun({ program, cell, difference }) {
      const verdict =
        difference === null ? 'same' : knownReason(program.name, className) === null ? 'DIFFERS' : 'known';
      say(`${className.padEnd(9)} ${verdict.padEnd(7)} ${program.name} (${cell.seconds.toFixed(1)} s)`);
    },
  });
}

/** A line for each kind of program, then one for each difference. The answer is how many of these nobody knew of. */
function report(className: ClassName, results: readonly Compared[]): number {
  say(`\n${className}: ${results.filter(({ difference }) => difference === null).length} of ${results.length} as bare`);
  for (const kind of ['command', 'node', 'cpython']) {
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

install();
const classes = chosenClasses();
const programs = chosenPrograms();
const bareRuns = await runAllBare(programs, ({ name }, run) => {
  say(`bare      ${passed(run) ? 'passes ' : 'FAILS  '} ${name} (${run.seconds.toFixed(1)} s)`);
});
const results = new Map<ClassName, readonly Compared[]>();
for (const className of classes) results.set(className, await tryClass(className, programs, bareRuns));
const failedBare = programs.filter(({ name }) => !passed(bareRuns.get(name) as Run));
say(`\nbare: ${programs.length - failedBare.length} of ${programs.length} pass`);
for (const { name } of failedBare) say(`  ${name}: ${(bareRuns.get(name) as Run).ended}`);
let unknown = 0;
for (const [className, compared] of results) unknown += report(className, compared);
process.exitCode = unknown === 0 ? 0 : 1;
