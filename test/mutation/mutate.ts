/**
 * `npm run mutate -- NAME…`: makes statements false with the changes in `mutations.ts`, one after another, and says which tests
 * noticed. It works on a copy of the tree, and runs only the tests with the statement's id as a tag. It exits with 1 if a
 * change was not noticed or could not be made. Without a name, it makes all changes.
 */
import { copyOfTree, type TreeCopy } from '../../tools/copy-of-tree.ts';
import { MUTATIONS, type Mutation } from './mutations.ts';
import { type MarkedRun, runMarked } from './run-marked.ts';

const names = process.argv.slice(2);
const chosen = MUTATIONS.filter(({ name, falsifies }) => {
  const isWanted = (wanted: string) => name.includes(wanted) || falsifies.some((id) => id === wanted);
  return names.length === 0 || names.some(isWanted);
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The statements for which no test failed, and the titles of the tests that failed. */
function judged({ falsifies }: Mutation, run: MarkedRun): { missed: string[]; noticedBy: string[] } {
  const failed = run.tests.filter(({ state }) => state === 'failed');
  const missed = falsifies.filter((id) => !failed.some(({ tags }) => tags.includes(id)));
  return { missed, noticedBy: failed.map(({ name }) => name) };
}

/** Makes one statement false and reports the outcome. */
async function isNoticed(tree: TreeCopy, mutation: Mutation): Promise<boolean> {
  using change = tree.changed(mutation);
  if (change === null) {
    say(`CANNOT BE MADE  ${mutation.name}\n                ${mutation.file} does not have the text once`);
    return false;
  }
  const { missed, noticedBy } = judged(mutation, await runMarked(tree.path, mutation.falsifies));
  say(`${missed.length === 0 ? 'noticed       ' : 'UNNOTICED     '}  ${mutation.name}`);
  for (const id of missed) say(`                no test of ${id} failed`);
  for (const title of noticedBy) say(`                failed: ${title}`);
  return missed.length === 0;
}

async function main(): Promise<boolean> {
  await using tree = await copyOfTree();
  const statements = [...new Set(chosen.flatMap(({ falsifies }) => falsifies))];
  const before = await runMarked(tree.path, statements);
  const broken = before.tests.filter(({ state }) => state !== 'passed').map(({ name }) => name);
  const untested = statements.filter((id) => !before.tests.some(({ tags }) => tags.includes(id)));
  if (broken.length > 0 || untested.length > 0) {
    say(`without a mutation these fail: ${broken.join('; ')}; and these have no test: ${untested.join(', ')}`);
    return false;
  }
  let unnoticed = 0;
  for (const mutation of chosen) if (!(await isNoticed(tree, mutation))) unnoticed++;
  say(`${chosen.length - unnoticed} mutations noticed, ${unnoticed} not`);
  return unnoticed === 0 && chosen.length > 0;
}

if (!(await main())) process.exitCode = 1;
