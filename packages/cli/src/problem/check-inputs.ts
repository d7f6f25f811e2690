/** Runs a package's input validators on the input of every test, each in its own job. To accept, a validator exits with 42. */
import type { ServiceClient } from '@vouchbox/client';
import { UsageError } from '../failures/usage-error.ts';
import type { Problem } from './problem.ts';

const VALID = 42;

/** @throws UsageError that names the first refused test and quotes the validator */
export async function checkInputs(problem: Problem, client: ServiceClient, signal: AbortSignal): Promise<void> {
  const { tests, inputValidators, inputFlags } = problem;
  const jobs = inputValidators.flatMap((validator) => tests.map((test) => ({ validator, test })));
  // All jobs are requested at once: the client keeps no more runs open than the service allows its tenant.
  const problems = await Promise.all(
    jobs.map(async ({ validator, test }) => {
      const { language, code, name } = validator;
      const args = inputFlags.get(test.name) ?? [];
      const run = await client.run(code, { language, stdin: test.stdin, args, signal });
      if (run.exit_code === VALID) return null;
      const [said = ''] = (run.stderr || run.stdout).trim().split('\n');
      return `${test.name}: ${name} refuses its input (${run.exit_code ?? run.terminal_reason})${said === '' ? '' : `: ${said}`}`;
    }),
  );
  const found = problems.find((each) => each !== null);
  if (found !== undefined && found !== null) throw new UsageError(found);
}
