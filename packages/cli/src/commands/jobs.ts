/** Adds the commands about jobs to the table: `vouchbox jobs`, `libraries`, `sessions`, `link`, `links` and others. */
import { LANGUAGES } from '@vouchbox/protocol/vocabulary';
import { type Command, Option } from 'commander';
import { collect, duration, running, seconds, sessionName, withAccess, withJson } from './options.ts';

/** `vouchbox jobs`, which lists jobs, and its subcommands. */
export function addJobs(program: Command): void {
  const jobs = program
    .command('jobs')
    .description('list, show and cancel the jobs of a service; without a subcommand, list');
  const list = jobs
    .command('list', { isDefault: true })
    .description('the newest jobs first')
    .option('--limit <number>', 'how many, 1 to 200')
    .option('--status <statuses>', 'only jobs in these statuses, separated by commas')
    .addOption(new Option('--language <language>', 'only this language').choices([...LANGUAGES]))
    .option('--label <text>', 'only jobs that have this label')
    .action(running(async () => (await import('../jobs.ts')).listJobs));
  const show = jobs
    .command('show')
    .description('show everything about one job, as JSON')
    .argument('<job>')
    .action(running(async () => (await import('../jobs.ts')).showJob));
  const cancel = jobs
    .command('cancel')
    .description('stop a job')
    .argument('<job>')
    .action(running(async () => (await import('../jobs.ts')).cancelJob));
  for (const command of [list, show, cancel]) withJson(withAccess(command));
}

export function addLibraries(program: Command): void {
  const libraries = program
    .command('libraries')
    .description('pack packages of pip or npm for `vouchbox run --libraries`, and upload them');
  const pack = libraries
    .command('pack')
    .description('write the archive of locked packages, and print its digest; no code of a package runs')
    .option('--python <file>', 'a requirements.txt with hashes: pip installs its wheels')
    .option('--python-version <version>', 'the Python version of the cell, such as 3.11 (default: that of this host)')
    .option('--node <file>', 'a package-lock.json: npm ci installs its packages')
    .option('--directory <directory>', 'a directory of packages that are already installed')
    .requiredOption('--output <file>', 'the new archive, such as libraries.tar.gz')
    .action(running(async () => (await import('../libraries/pack-libraries.ts')).packLibraries));
  const upload = libraries
    .command('upload')
    .description('upload an archive to a service, and print the digest that names it in a run')
    .argument('<file>')
    .action(running(async () => (await import('../libraries/upload-libraries.ts')).uploadLibraries));
  withJson(pack);
  withJson(withAccess(upload));
}

/** `vouchbox sessions`, which lists sessions, and its subcommand. */
export function addSessions(program: Command): void {
  const sessions = program
    .command('sessions')
    .description('list and remove the sessions of a service; without a subcommand, list');
  const list = sessions
    .command('list', { isDefault: true })
    .description('list the sessions by name, with the last step of each')
    .action(running(async () => (await import('../sessions.ts')).listSessions));
  const remove = sessions
    .command('remove')
    .description('remove a session; its jobs stay as long as other jobs')
    .argument('<name>', '', sessionName)
    .action(running(async () => (await import('../sessions.ts')).removeSession));
  for (const command of [list, remove]) withJson(withAccess(command));
}

/** `vouchbox link`, which makes a link, and `vouchbox links`, which lists links, with its subcommand. */
export function addLinks(program: Command): void {
  const link = program
    .command('link')
    .description('make a link by which anyone can read the result of a job without a key, and print its address once')
    .argument('<job>')
    .option('--show <parts>', 'also show these parts, separated by commas: code, input, files (its outputs)')
    .option('--expires-in <duration>', 'how long the link lasts: 30m, 12h, 7d (default: 1d)', duration)
    .action(running(async () => (await import('../links.ts')).makeLink));
  const links = program.command('links').description('list and revoke the links to a job; without a subcommand, list');
  const list = links
    .command('list', { isDefault: true })
    .description('list the links that have not ended, the oldest first')
    .argument('<job>')
    .action(running(async () => (await import('../links.ts')).listLinks));
  const revoke = links
    .command('revoke')
    .description('end a link now')
    .argument('<job>')
    .argument('<link>', 'its identifier, as the list shows it, or its address')
    .action(running(async () => (await import('../links.ts')).revokeLink));
  for (const command of [link, list, revoke]) withJson(withAccess(command));
}

export function addExport(program: Command): void {
  const command = program
    .command('export')
    .description('write everything that an auditor needs about one job into a directory for service-verify')
    .argument('<job>')
    .option('--output <directory>', 'where to write it; default: a directory named after the job')
    .option(
      '--public-key <file>',
      'the public key that signed the job, if the service has replaced it since',
      collect,
      [],
    )
    .option('--evidence-only', 'leave out the program, its input and its output files')
    .option(
      '--with-inputs',
      'also export every job whose outputs this job got as inputs, the jobs that those depend on, and so on; not with --log-proof, --promise and --canary, which are of one job',
    )
    .option('--log-proof <file>', 'also write the proof that the log has the job, to a new file beside the directory')
    .option('--promise <file>', 'also write the promise of the job, to a new file beside the directory')
    .option('--canary <file>', 'also write the canary that the job names, to a new file beside the directory')
    .option('--data-dir <directory>', 'read the data of a stopped service instead of asking a running one')
    .option('--database-url <url>', 'the store, if it is not in the data directory (or SERVICE_DATABASE_URL)')
    .option('--tenant <tenant>', 'the tenant of the job, with --data-dir')
    .action(running(async () => (await import('../export.ts')).exportJob));
  withJson(withAccess(command));
}

export function addReproduce(program: Command): void {
  const command = program
    .command('reproduce')
    .description('run an exported job again at another operator’s service, export its answer and compare the two')
    .argument('<directory>', 'the export of a job; its results are not sent')
    .option('--output <directory>', 'the directory for the answer; default: beside the export, with -reproduced')
    .option('--public-key <file>', 'a pinned key as PEM; give those of both operators', collect, [])
    .option('--product <job>', 'the build at that service whose product the job starts, if the job started a product')
    .option('--timeout <seconds>', 'how many seconds that service may take in all', seconds, 600)
    .action(running(async () => (await import('../reproduce.ts')).reproduce));
  withJson(withAccess(command));
}

export function addVerifyPage(program: Command): void {
  const command = program
    .command('verify-page')
    .description('write the page that checks an exported job in a browser, without a service and a network')
    .argument('<file>', 'a new file, such as verify.html')
    .action(running(async () => (await import('../verify-page.ts')).writeVerifyPage));
  withJson(command);
}
