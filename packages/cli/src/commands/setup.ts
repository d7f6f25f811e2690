/** `vouchbox setup` in the table of commands. */
import type { Command } from 'commander';
import { ending } from './options.ts';

/** `vouchbox setup`: installs what this host lacks for isolating programs, as far as this user may, and names the rest. */
export function addSetUp(program: Command): void {
  program
    .command('setup')
    .description('install and compile what this host lacks for isolating programs; as root on Debian and Ubuntu')
    .action(async () => {
      const { setUpHost } = await import('@vouchbox/server/administration');
      await ending(setUpHost('all'));
    });
}
