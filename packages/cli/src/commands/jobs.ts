/** `vouchbox jobs` in the table of commands. */
import type { Command } from 'commander';
import type { JobOptions, ListOptions } from '../jobs.ts';
import { ending, withAccess, withJson } from './options.ts';

/** `vouchbox jobs`, which lists, and its verbs. */
export function addJobs(program: Command): void {
  const jobs = program.command('jobs').description('list, show and cancel the jobs of a service; alone it lists');
  const list = jobs
    .command('list', { isDefault: true })
    .description('the newest jobs first')
    .option('--limit <number>', 'how many, 1 to 200')
    .option('--status <statuses>', 'only these, separated by commas')
    .option('--language <language>', 'only this language')
    .action(async (options: ListOptions) => ending((await import('../jobs.ts')).listJobs(options)));
  const show = jobs
    .command('show')
    .description('everything the service says about one job, as JSON')
    .argument('<job>')
    .action(async (job: string, options: JobOptions) => ending((await import('../jobs.ts')).showJob(job, options)));
  const cancel = jobs
    .command('cancel')
    .description('stop a job')
    .argument('<job>')
    .action(async (job: string, options: JobOptions) => ending((await import('../jobs.ts')).cancelJob(job, options)));
  for (const command of [list, show, cancel]) withJson(withAccess(command));
}
