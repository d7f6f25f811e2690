/** `vouchbox backup` and `vouchbox restore` in the table of commands. */
import type { Command } from 'commander';
import type { BackupOptions } from '../operator/backup.ts';
import type { RestoreCommandOptions } from '../operator/restore.ts';
import { ending, withJson, withStore } from './options.ts';

/** `vouchbox backup`. */
export function addBackup(program: Command): void {
  const command = program
    .command('backup')
    .description('copy the store to a file, also while the service runs; the signing keys are not in it')
    .argument('<file>', 'the file to make')
    .action(async (file: string, options: BackupOptions) =>
      ending((await import('../operator/backup.ts')).backupTo(file, options)),
    );
  withJson(withStore(command));
}

/** `vouchbox restore`. */
export function addRestore(program: Command): void {
  const command = program
    .command('restore')
    .description('make a data directory from a backup: every check is made first, and nothing is written over')
    .argument('<file>', 'what `vouchbox backup` made')
    .option('--attestation-keys <directory>', 'a copy of the signing keys; without it the first start makes a new key')
    .option('--data-dir <directory>', 'the directory to make (or SERVICE_DATA_DIR)')
    .action(async (file: string, options: RestoreCommandOptions) =>
      ending((await import('../operator/restore.ts')).restoreFrom(file, options)),
    );
  withJson(command);
}
