/** `vouchbox export` in the table of commands. */
import type { Command } from 'commander';
import type { ExportOptions } from '../export.ts';
import { ending, withAccess, withJson } from './options.ts';

/** `vouchbox export`. */
export function addExport(program: Command): void {
  const command = program
    .command('export')
    .description('write everything an auditor needs of one job into a directory for service-verify')
    .argument('<job>')
    .option('--output <directory>', 'where to write it; default: a directory named after the job')
    .option('--public-key <file>', 'the key that signed, if the service has replaced it since')
    .option('--evidence-only', 'leave out the program, its input and its output files')
    .option('--data-dir <directory>', 'read the data of a stopped service instead of asking a running one')
    .option('--database-url <url>', 'its store, if it is not in the data directory (or SERVICE_DATABASE_URL)')
    .option('--tenant <tenant>', 'the tenant of the job, with --data-dir')
    .action(async (job: string, options: ExportOptions) =>
      ending((await import('../export.ts')).exportJob(job, options)),
    );
  withJson(withAccess(command));
}
