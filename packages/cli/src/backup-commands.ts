/** The commands that put the data of a service aside, and that make it again from what was put aside. */
import type { Command } from 'commander';
import type { BackupOptions } from './backup.ts';
import type { RestoreCommandOptions } from './restore.ts';

/** `vouchbox backup`. */
export function addBackup(program: Command): void {
  program
    .command('backup')
    .description('copy the store to a file, also while the service runs; the signing keys are not in it')
    .argument('<file>', 'the file to make')
    .option('--data-dir <directory>', 'where the service keeps its data (or SERVICE_DATA_DIR)')
    .option('--database-url <url>', 'the store, if it is not in the data directory (or SERVICE_DATABASE_URL)')
    .action(async (file: string, options: BackupOptions) => {
      process.exitCode = await (await import('./backup.ts')).backupTo(file, options);
    });
}

/** `vouchbox restore`. */
export function addRestore(program: Command): void {
  program
    .command('restore')
    .description('make a data directory from a backup: every check is made first, and nothing is written over')
    .argument('<file>', 'what `vouchbox backup` made')
    .option('--attestation-keys <directory>', 'a copy of the signing keys; without it the first start makes a new key')
    .option('--data-dir <directory>', 'the directory to make (or SERVICE_DATA_DIR)')
    .action(async (file: string, options: RestoreCommandOptions) => {
      process.exitCode = await (await import('./restore.ts')).restoreFrom(file, options);
    });
}
