/** `vouchbox setup`: installs and compiles what is missing on this host. */
import {
  installProfile,
  missingOfUser,
  nativeProblem,
  setUpHost,
  unusableNatives,
} from '@vouchbox/server/administration';
import { type JsonOption, note, printResult } from '../terminal/print.ts';

export interface SetUpOptions extends JsonOption {
  /** Installs only the AppArmor profile that lets ordinary users make cells. */
  readonly apparmor?: boolean;
}

/**
 * Sets the host up, and reports on stderr what is done and what is still missing. With `--json`, stdout lists the unusable ones
 * among the programs that start cells. @returns the exit code of the set-up
 */
export async function setUp({ apparmor = false, ...options }: SetUpOptions): Promise<number> {
  if (apparmor) {
    const done = installProfile();
    for (const line of done) note(line);
    printResult(options, '', { done });
    return 0;
  }
  const code = await setUpHost('all');
  const problem = nativeProblem();
  if (problem !== null) note(problem);
  for (const { missing, fix } of missingOfUser()) note(`to start cells, this user lacks ${missing}: ${fix}`);
  printResult(options, '', { missing_programs: unusableNatives() });
  return code;
}
