/**
 * `npm run capabilities`: takes away the unit's capabilities one at a time, and prints what then fails in `vouchbox doctor`
 * and in services with each isolation class. At the end, it tries all capabilities together, and then none.
 */
import { CLASSES, doctorProblems, serviceProblems } from './capability-trial.ts';
import { unitCapabilities } from './unit.ts';

async function print(title: string, capabilities: readonly string[]): Promise<void> {
  process.stdout.write(
    `${title}\n  vouchbox doctor: ${(await doctorProblems(capabilities)).join(', ') || 'nothing'}\n`,
  );
  for (const isolated of CLASSES) {
    const problems = await serviceProblems(isolated, capabilities);
    process.stdout.write(`  ${isolated}: ${problems.join('; ') || 'nothing'}\n`);
  }
}

const all = unitCapabilities();
for (const missing of all) {
  await print(
    `without ${missing}, what fails:`,
    all.filter((capability) => capability !== missing),
  );
}
await print('with all of the unit, what fails:', all);
await print('with none, what fails:', []);
