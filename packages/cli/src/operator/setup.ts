/** `vouchbox setup`: installs and compiles what this host lacks. */
import { missingNatives, setUpHost } from '@vouchbox/server/administration';
import { type JsonOption, printResult } from '../terminal/print.ts';

/**
 * Sets the host up; what it does and what is missing afterwards are lines on stderr. With `--json` stdout names the
 * programs that start cells and could not be compiled. @returns the exit code of the set-up
 */
export async function setUp(options: JsonOption): Promise<number> {
  const code = await setUpHost('all');
  printResult(options, '', { missing_programs: missingNatives() });
  return code;
}
