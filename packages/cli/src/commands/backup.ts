/** `vouchbox backup`, `vouchbox restore` and `vouchbox copy-store` in the table of commands. */
import type { Command } from 'commander';
import type { BackupOptions, CopyStoreOptions, RestoreCommandOptions } from '../operator/store-copies.ts';
import { ending, withJson, withStore } from './options.ts';

/** `vouchbox backup`. */
export function addBackup(program: Command): void {
  const command = program
    .command('backup')
    .description('copy the store to a file, also while the service runs; the signing keys are not in it')
    .argument('<file>', 'the file to make')
    .action(async (file: string, options: BackupOptions) =>
      ending((await import('../operator/store-copies.ts')).backupTo(file, options)),
    );
  withJson(withStore(command));
}

/** `vouchbox restore`. */
export function addRestore(program: Command): void {
  const command = program
    .command('restore')
    .description('make a data directory from a backup, after every check; it overwrites nothing')
    .argument('<file>', 'the file that `vouchbox backup` made')
    .option('--attestation-keys <directory>', 'a copy of the signing keys; without it the first start makes a new key')
    .option('--data-dir <directory>', 'the directory to make (or SERVICE_DATA_DIR)')
    .action(async (file: string, options: RestoreCommandOptions) =>
      ending((await import('../operator/store-copies.ts')).restoreFrom(file, options)),
    );
  withJson(command);
}

/** `vouchbox copy-store`. */
export function addCopyStore(program: Command): void {
  const command = program
    .command('copy-store')
    .description(
      'copy the SQLite store of a stopped service to PostgreSQL, and compare both; a copy that differs is undone',
    )
    .argument('<url>', 'postgres://…, an empty schema; the password may be in it, in PGPASSWORD or in ~/.pgpass')
    .action(async (url: string, options: CopyStoreOptions) =>
      ending((await import('../operator/store-copies.ts')).copyStoreTo(url, options)),
    );
  withJson(withStore(command));
}
