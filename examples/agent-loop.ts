/**
 * An agent loop without a framework: the model writes code, the code runs isolated, and the model reads the result.
 * A workspace keeps the files from step to step, and the record of all steps is checked at the end.
 */
import { client } from './service.ts';

/** What a model would answer. The first program has a mistake; the second program repairs it. */
const scriptedModel = [
  'rows = open("sales.csv").read().split()\nprint(sum(int(row) for row in rows))',
  'rows = open("sales.csv").read().split()[1:]\ntotal = sum(int(row) for row in rows)\nopen("total.txt", "w").write(str(total))\nprint(total)',
];

const workspace = await client.workspace();
workspace.write('sales.csv', 'amount\n20\n22\n');

let seen = 'The file sales.csv has a column of numbers. Print their sum.';
for (const program of scriptedModel) {
  console.log(`the model sees: ${seen.trim().split('\n').at(-1)}`);
  const step = await workspace.run(program, { limits: { wall_seconds: 5 } });
  seen = step.status === 'succeeded' ? step.stdout : step.stderr;
  if (step.status === 'succeeded') break;
}
console.log(`the answer is ${seen.trim()}, and the workspace has ${workspace.paths().join(', ')}`);

await workspace.verify();
console.log(`the records of ${workspace.steps.length} steps are whole`);
