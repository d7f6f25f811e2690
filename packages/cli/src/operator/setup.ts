/** `vouchbox setup`: installs and compiles what this host lacks. */
import { nativeProblem, setUpHost, unusableNatives } from '@vouchbox/server/administration';
import { type JsonOption, note, printResult } from '../terminal/print.ts';

/**
 * Sets the host up; what it does and what is missing afterwards are lines on stderr. With `--json` stdout names the
 * programs that start cells and cannot be used. @returns the exit code of the set-up
 */
export async function setUp(options: JsonOption): Promise<number> {
  const code = await setUpHost('all');
  const problem = nativeProblem();
  if (problem !== null) note(problem);
  printResult(options, '', { missing_programs: unusableNatives() });
  return code;
}
