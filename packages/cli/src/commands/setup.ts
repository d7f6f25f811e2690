/** `vouchbox setup` in the table of commands. */
import type { Command } from 'commander';
import type { JsonOption } from '../terminal/print.ts';
import { ending, withJson } from './options.ts';

/** `vouchbox setup`: installs what this host lacks for isolating programs, as far as this user may, and names the rest. */
export function addSetUp(program: Command): void {
  const command = program
    .command('setup')
    .description('install and compile what this host lacks for isolating programs; as root on Debian and Ubuntu')
    .action(async (options: JsonOption) => ending((await import('../operator/setup.ts')).setUp(options)));
  withJson(command);
}
