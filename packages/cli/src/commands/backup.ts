/** Adds `vouchbox backup`, `vouchbox restore` and `vouchbox copy-store` to the table of commands. */
import type { Command } from 'commander';
import { running, withJson, withStore } from './options.ts';

export function addBackup(program: Command): void {
  const command = program
    .command('backup')
    .description('copy the store to a file, also while the service runs; the signing keys are not in it')
    .argument('<file>', 'the file to make')
    .action(running(async () => (await import('../operator/store-copies.ts')).backupTo));
  withJson(withStore(command));
}

export function addRestore(program: Command): void {
  const command = program
    .command('restore')
    .description('make a data directory from a backup, after every check; it overwrites nothing')
    .argument('<file>', 'the file that `vouchbox backup` made')
    .option('--attestation-keys <directory>', 'a copy of the signing keys; without it the first start makes a new key')
    .option('--data-dir <directory>', 'the directory to make (or SERVICE_DATA_DIR)')
    .action(running(async () => (await import('../operator/store-copies.ts')).restoreFrom));
  withJson(command);
}

export function addCopyStore(program: Command): void {
  const command = program
    .command('copy-store')
    .description(
      'copy the SQLite store of a stopped service to PostgreSQL, and compare both; a copy that differs is undone',
    )
    .argument('<url>', 'postgres://…, an empty schema; the password may be in it, in PGPASSWORD or in ~/.pgpass')
    .action(running(async () => (await import('../operator/store-copies.ts')).copyStoreTo));
  withJson(withStore(command));
}
