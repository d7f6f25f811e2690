/** Adds `vouchbox login`, `logout` and `profiles` to the table of commands. */
import type { Command } from 'commander';
import { running, withJson } from './options.ts';

export function addLogin(program: Command): void {
  const command = program
    .command('login')
    .description('keep the address and the key of a service in a profile, so that the other commands call it')
    .option('--url <url>', 'the address of the service (or SERVICE_URL)')
    .option(
      '--key <key>',
      'its key; without it, the one on stdin, or else SERVICE_KEY, or else the command asks for it',
    )
    .option('--profile <name>', 'the name of the profile (or SERVICE_PROFILE)')
    .action(running(async () => (await import('../login.ts')).login));
  withJson(command);
}

export function addLogout(program: Command): void {
  const command = program
    .command('logout')
    .description('forget the address and the key of a profile; the key itself stays valid')
    .option('--profile <name>', 'the name of the profile (or SERVICE_PROFILE)')
    .option('--all', 'forget every profile')
    .action(running(async () => (await import('../login.ts')).logout));
  withJson(command);
}

export function addProfiles(program: Command): void {
  const command = program
    .command('profiles')
    .description('list the services of `vouchbox login`, without their keys')
    .action(running(async () => (await import('../login.ts')).listProfiles));
  withJson(command);
}
