/**
 * `npm run mutate:sample -- FOLDER…`: makes small changes at random places in each folder's sources, in a copy of the
 * tree, and lists the changes that no test notices. It runs the tests that load the changed file, nearest first, and stops
 * at the first failure. A reader must judge the listed changes, because some make no difference to the folder's users.
 * README.md describes the options.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, globSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { copyOfTree, type TreeCopy } from '../../tools/copy-of-tree.ts';
import { loadersOf, testsThatLoad } from './loading-tests.ts';
import { type SmallChange, smallChanges } from './small-changes.ts';

/** The timeout of a run, because the change may make the run endless. */
const LONGEST_SECONDS = 300;
const { positionals: folders, values } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1e6) },
    also: { type: 'string', multiple: true, default: [] },
    skip: { type: 'string', default: '0' },
    in: { type: 'string', multiple: true, default: [] },
    without: { type: 'string', multiple: true, default: [] },
  },
});

interface PlacedChange extends SmallChange {
  readonly file: string;
}

type Outcome = 'SURVIVED' | 'noticed' | 'endless';

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The sources and tests of a folder, without those that `--without` leaves out. */
function sourcesIn(tree: TreeCopy, folder: string): string[] {
  return globSync(`${folder}/**/*.ts`, { cwd: tree.path }).filter(isIncluded);
}

function isIncluded(file: string): boolean {
  return !values.without.some((text) => file.includes(text));
}

/**
 * Some changes to a folder's sources. A digest of the seed and of the changed line gives their order. So a larger count
 * begins with the same changes, and a new line elsewhere does not change the order.
 */
function sampleOf(tree: TreeCopy, folder: string): PlacedChange[] {
  const files = sourcesIn(tree, folder).filter((file) => !/\.(?:test|fixture)\.ts$/.test(file));
  const all = files.toSorted().flatMap((file) => {
    return smallChanges(readFileSync(join(tree.path, file), 'utf8')).map((change) => ({ ...change, file }));
  });
  const ordered = all
    .map((change) => ({ change, rank: rankOf(change) }))
    .toSorted((one, other) => one.rank - other.rank);
  const sample = ordered.slice(Number(values.skip), Number(values.skip) + Number(values.count));
  say(`${folder}: ${sample.length} of ${all.length} changes, seed ${values.seed}`);
  const isWanted = ({ file, line }: PlacedChange) => values.in.some((place) => `${file}:${line}`.includes(place));
  return sample.map(({ change }) => change).filter((change) => values.in.length === 0 || isWanted(change));
}

/** A number that depends only on the seed and the change. */
function rankOf({ file, line, from, to, text }: PlacedChange): number {
  const changed = text.split('\n')[line - 1]?.trim();
  const digest = createHash('sha256').update(JSON.stringify([values.seed, file, from, to, changed]));
  return digest.digest().readUIntBE(0, 6);
}

/** Runs test files in a process group of their own. The group ends as a whole when the time is over. */
async function outcomeOf(tree: TreeCopy, tests: readonly string[], secondsMax: number): Promise<Outcome> {
  if (tests.length === 0) return 'SURVIVED';
  const temporary = join(tree.path, '../tmp');
  mkdirSync(temporary, { recursive: true, mode: 0o1777 });
  const words = ['run', '--config', 'test/mutation/vitest.config.ts', '--reporter', 'dot'];
  const output = openSync(outputOf(tree), 'w');
  const child = spawn(join(tree.path, 'node_modules/.bin/vitest'), words, {
    cwd: tree.path,
    stdio: ['ignore', output, output],
    detached: true,
    env: { ...process.env, TMPDIR: temporary, MUTATION_TESTS: tests.join(' ') },
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, secondsMax * 1000);
  const [status] = await once(child, 'exit');
  clearTimeout(timer);
  closeSync(output);
  if (isLate) return 'endless';
  return status === 0 ? 'SURVIVED' : 'noticed';
}

/** The latest run's output. */
function outputOf(tree: TreeCopy): string {
  return join(tree.path, '../output.txt');
}

function secondsSince(start: number): number {
  return (performance.now() - start) / 1000;
}

/** How many seconds a folder's tests take without a change. */
async function secondsUnchanged(tree: TreeCopy, folder: string): Promise<number> {
  const start = performance.now();
  const tests = sourcesIn(tree, folder).filter((file) => file.endsWith('.test.ts'));
  if ((await outcomeOf(tree, tests, LONGEST_SECONDS)) !== 'SURVIVED') {
    say(readFileSync(outputOf(tree), 'utf8'));
    throw new Error(`the tests of ${folder} fail without a change`);
  }
  return secondsSince(start);
}

await using tree = await copyOfTree();
const loaders = loadersOf(tree.path);
for (const folder of folders) {
  const changes = sampleOf(tree, folder);
  const seconds = await secondsUnchanged(tree, folder);
  say(`the tests of the folder take ${seconds.toFixed(1)} seconds`);
  const counts = { SURVIVED: 0, noticed: 0, endless: 0 };
  for (const { file, line, from, to, text } of changes) {
    using _change = tree.replaced(file, text);
    const start = performance.now();
    const tests = testsThatLoad(file, loaders);
    let outcome: Outcome = 'SURVIVED';
    for (const part of [folder, ...values.also]) {
      const inPart = tests.filter((test) => test.startsWith(`${part}/`) && isIncluded(test));
      const secondsMax = part === folder ? 2 * seconds + 20 : LONGEST_SECONDS;
      if (outcome === 'SURVIVED') outcome = await outcomeOf(tree, inPart, secondsMax);
    }
    counts[outcome]++;
    const took = `${secondsSince(start).toFixed(1).padStart(5)} s`;
    say(`${outcome.padEnd(8)} ${took}  ${file}:${line}  ${from.slice(0, 80)}  →  ${to}`);
  }
  const { noticed, endless, SURVIVED } = counts;
  say(`${folder}: ${changes.length} changes, ${noticed} noticed, ${endless} never ended, ${SURVIVED} survived`);
}
