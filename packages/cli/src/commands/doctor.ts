/** `vouchbox doctor` in the table of commands. */
import type { Command } from 'commander';
import type { DoctorCommandOptions } from '../doctor.ts';
import { EXIT } from '../failures/exit-code.ts';
import { ending, withDataDirectory } from './options.ts';

/** `vouchbox doctor`. */
export function addDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('try every control of this host, and say how to fix those that fail')
    .option('--json', 'everything that was found, as JSON')
    .option('--runtime-packs-dir <directory>', 'where packs are (or SERVICE_RUNTIME_PACKS_DIR)')
    .addHelpText('after', `\nExit codes: ${EXIT.ok} programs can be isolated here, ${EXIT.failed} they cannot.`)
    .action(async (options: DoctorCommandOptions) => ending((await import('../doctor.ts')).doctorCommand(options)));
  withDataDirectory(command);
}
