/**
 * `npm run mutate:sample -- FOLDER… [--count N] [--seed N]`: makes small changes at random places of each folder's
 * sources, in a copy of the tree, and lists those that the tests in the same folder do not notice. It does not judge:
 * some changes do not matter to users of the folder, and tests elsewhere notice others. A reader decides.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { copyOfTree, type TreeCopy } from '../../tools/copy-of-tree.ts';
import { type SmallChange, smallChanges } from './small-changes.ts';

const MILLISECONDS_MAX = 300_000;
const { positionals: folders, values } = parseArgs({
  allowPositionals: true,
  options: { count: { type: 'string', default: '10' }, seed: { type: 'string', default: String(Date.now() % 1e6) } },
});

interface PlacedChange extends SmallChange {
  readonly file: string;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Some changes of the sources of a folder, the same for the same seed. */
function sampleOf(tree: TreeCopy, folder: string, count: number, seed: number): PlacedChange[] {
  const files = globSync(`${folder}/**/*.ts`, { cwd: tree.path }).filter((file) => !/test|fixture/.test(file));
  const all = files.toSorted().flatMap((file) => {
    return smallChanges(readFileSync(join(tree.path, file), 'utf8')).map((change) => ({ ...change, file }));
  });
  const picked = fc.sample(fc.shuffledSubarray(all, { minLength: count, maxLength: count }), { numRuns: 1, seed });
  return picked[0] ?? [];
}

/** Whether the tests of the folder pass without a change. */
function passes(tree: TreeCopy, folder: string): boolean {
  const words = ['run', folder, '--bail', '1', '--testTimeout', '60000', '--reporter', 'dot'];
  const { status } = spawnSync(join(tree.path, 'node_modules/.bin/vitest'), words, {
    cwd: tree.path,
    stdio: 'ignore',
    timeout: MILLISECONDS_MAX,
    killSignal: 'SIGKILL',
  });
  return status === 0;
}

await using tree = await copyOfTree();
say(`seed ${values.seed}`);
for (const folder of folders) {
  if (!passes(tree, folder)) throw new Error(`the tests of ${folder} fail without a change`);
  const changes = sampleOf(tree, folder, Number(values.count), Number(values.seed));
  let noticed = 0;
  for (const { file, line, from, to, text } of changes) {
    using _change = tree.replaced(file, text);
    const isNoticed = !passes(tree, folder);
    if (isNoticed) noticed++;
    say(`${isNoticed ? 'noticed ' : 'SURVIVED'}  ${file}:${line}  ${from.slice(0, 80)}  →  ${to}`);
  }
  say(`${folder}: ${noticed} of ${changes.length} noticed`);
}
