/**
 * Some programs that run on any Linux must do the same in a cell of each class as on the host. `npm run programs` tries
 * many more programs. The known differences and their reasons are in `known-differences.json`.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isLongForm } from '../rig/form.ts';
import { runBare } from './bare.ts';
import { COMMANDS } from './commands.ts';
import { differenceOf, isHere, passed } from './compare.ts';
import { cpythonPrograms, interpreterPrograms } from './cpython.ts';
import { type CellRunner, CLASSES, openCellRunner } from './in-cell.ts';
import { KNOWN_DIFFERENCES, knownReason } from './known-differences.ts';
import { NODE_MODULES } from './node-modules.ts';
import type { Run } from './program.ts';

/** The programs that show most in little time. All of them together take seconds. */
const FEW = ['find', 'tar', 'git', 'sqlite3', 'gcc', 'script', 'child_process', 'http', 'worker_threads', 'test_stat'];
const MORE = [
  ...['stat', 'cp', 'mktemp', 'sort', 'sed', 'awk', 'make', 'curl,python3', 'python3'],
  ...['crypto', 'fs', 'fs.watch', 'net.unix', 'process', 'zlib'],
  ...['test_glob', 'test_dbm_dumb', 'python/test_atexit'],
];
const CHOSEN = isLongForm ? [...FEW, ...MORE] : FEW;
const every = [...COMMANDS, ...NODE_MODULES, ...interpreterPrograms(), ...cpythonPrograms('all')];
const programs = every.filter(
  (program) =>
    isHere(program) &&
    [program.name, program.name.replace(/^\w+\/([^:]*).*/, '$1')].some((name) => CHOSEN.includes(name)),
);

const bareRuns = new Map<string, Promise<Run>>();

/** Runs a program on the host. If it fails, runs it again, as CPython does: a busy machine can cause a failure. */
function bareRunOf(program: (typeof programs)[number]): Promise<Run> {
  const tryTwice = async () => {
    const first = await runBare(program);
    return passed(first) ? first : await runBare(program);
  };
  const run = bareRuns.get(program.name) ?? tryTwice();
  bareRuns.set(program.name, run);
  return run;
}

describe.each(CLASSES)('in the class of %s', (className) => {
  let cells: CellRunner;
  beforeAll(async () => {
    cells = await openCellRunner(className);
  });
  afterAll(() => cells[Symbol.asyncDispose]());

  test.each(programs.map((program) => [program.name, program] as const))(
    '%s behaves in a cell as it does outside',
    async (name, program) => {
      const bare = await bareRunOf(program);
      const said = `${bare.stdout}${bare.stderr}`.slice(-2000);
      expect(bare, `the program passes without a cell: ${said}`).toMatchObject({ ended: 'exit 0' });
      const difference = differenceOf(program, { bare, cell: await cells.run(program) });
      expect(knownReason(name, className) === null ? difference : null).toBeNull();
    },
  );
});

test('every known difference names an existing program, and has a reason', () => {
  const names = new Set([...COMMANDS, ...NODE_MODULES].map(({ name }) => name));
  const wrong = KNOWN_DIFFERENCES.filter(
    ({ program, classes, reason }) =>
      !(program.startsWith('cpython/test_') || names.has(program)) || classes.length === 0 || reason.length < 20,
  );
  expect(wrong).toEqual([]);
});
