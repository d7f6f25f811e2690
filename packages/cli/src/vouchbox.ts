/** The `vouchbox` command: its commands and options, and how failures are reported. Each command is in its own file. */
import { readFileSync } from 'node:fs';
import { ServiceFailure, TransportFailure } from '@vouchbox/client';
import { printable, printableText } from '@vouchbox/protocol/vocabulary';
import { Command, CommanderError, Option } from 'commander';
import { addAdapter } from './adapter-command.ts';
import type { AttestationKeysOptions } from './attestation-keys.ts';
import { addBackup, addRestore } from './backup-commands.ts';
import { CommandFailure } from './command-failure.ts';
import type { DoctorCommandOptions } from './doctor.ts';
import { EXIT } from './exit-code.ts';
import type { ExportOptions } from './export.ts';
import type { ListOptions } from './jobs.ts';
import type { KeysOptions } from './keys.ts';
import { addMcp } from './mcp-command.ts';
import type { PacksOptions } from './packs.ts';
import type { RunOptions } from './run.ts';
import type { AccessOptions } from './service-access.ts';
import { addSetUp } from './set-up.ts';
import { UsageError } from './usage-error.ts';

/** Runs one command line, as in `process.argv`, and sets the exit code of the process. */
export async function main(argv: readonly string[]): Promise<void> {
  quietOnBrokenPipe();
  try {
    await (await svcCommand(argv[2])).parseAsync([...argv]);
  } catch (error) {
    process.exitCode = tell(error, argv[2] === 'run' ? EXIT.notRun : EXIT.failed);
  }
}

/** A reader that stops reading, as `head` does, is no failure. */
function quietOnBrokenPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok);
    throw error;
  });
}

async function svcCommand(asked: string | undefined): Promise<Command> {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const program = new Command('vouchbox')
    .description('Run code you do not trust on a box you own, and hand anyone a result they can check.')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(vouchbox --help lists the commands)');
  await addServe(program, asked);
  addSetUp(program);
  addRun(program);
  addJobs(program);
  addPacks(program);
  addDoctor(program);
  addKeys(program);
  addBackup(program);
  addRestore(program);
  addAttestationKeys(program);
  addExport(program);
  for (const command of [...addMcp(program, version), addAdapter(program)]) withAccess(command);
  return program;
}

/** A command returns its exit code. */
function ending(work: Promise<number>): Promise<void> {
  return work.then((code) => {
    process.exitCode = code;
  });
}

/** The settings' table is loaded only for the commands that need it: the others start without it. */
async function addServe(program: Command, asked: string | undefined): Promise<void> {
  const command = program.command('serve').description('start the service; every flag is also a SERVICE_* variable');
  if (asked === 'serve' || asked === 'help') {
    const { SETTINGS } = await import('@vouchbox/server/administration');
    for (const { flag, description, defaultText, allowed } of SETTINGS) {
      const shown = defaultText === null ? '' : ` (default: ${defaultText})`;
      command.addOption(new Option(`--${flag} <value>`, `${description} Takes ${allowed}.${shown}`));
    }
  }
  command.action(async () => ending((await import('./serve.ts')).serve(flagsOf(command))));
}

/** commander turns `data-dir` into `dataDir`; settings are named by their flags. */
function flagsOf(command: Command): Record<string, string> {
  const given = command.opts<Record<string, string>>();
  return Object.fromEntries(
    command.options.flatMap((option) => {
      const value = given[option.attributeName()];
      return value === undefined ? [] : [[option.name(), value]];
    }),
  );
}

const collect = (value: string, earlier: readonly string[]): readonly string[] => [...earlier, value];

function withAccess(command: Command): Command {
  return command
    .option('--url <url>', 'the service to call (or SERVICE_URL)')
    .option('--key <key>', 'the key to call it with (or SERVICE_KEY, which other users of this host cannot read)');
}

function addRun(program: Command): void {
  const command = program
    .command('run')
    .description('run a program isolated; its output and its exit code become this command’s own')
    .argument('<file>', 'the program; - reads it from stdin')
    .argument('[args...]', 'arguments of the program; put -- before them')
    .option('--language <language>', 'as the capabilities list them; without it the name of the file says')
    .option('--stdin <text>', 'what the program reads on stdin: the text, @FILE, or - for this command’s own stdin')
    .option('--env <NAME=VALUE>', 'a variable of the program; NAME alone takes the value that it has here', collect, [])
    .option('--file <input/name=path>', 'an input file; a path alone goes to input/ under its own name', collect, [])
    .option(
      '--output <output/name=path>',
      'an output file to fetch, output/** for all; without a path it keeps its own',
      collect,
      [],
    )
    .option('--limit <name=value>', 'wall_seconds, cpu_seconds, mem_mb, max_pids or max_file_mb', collect, [])
    .option('--runtime <pack>', 'the runtime pack to run in')
    .option('--minimum-isolation <class>', 'refuse to run in anything weaker')
    .option('--raw', "pass the program's output to a terminal unescaped, control characters included")
    .addHelpText('after', RUN_HELP)
    .action(async (file: string, args: readonly string[], options: RunOptions) => {
      const { run } = await import('./run.ts');
      await ending(run(file, { ...options, args }));
    });
  withAccess(command);
}

const RUN_HELP = `
Without --url or SERVICE_URL the command starts a service of its own for as long as the program runs.

Exit codes: the program's own; ${EXIT.timedOut} a time limit, ${EXIT.outOfMemory} the memory limit, ${EXIT.cancelled} cancelled,
128 and the signal's number where a signal ended the program, ${EXIT.notRun} it did not run, ${EXIT.usage} wrong usage.`;

function addJobs(program: Command): void {
  const jobs = program.command('jobs').description('list, show and cancel the jobs of a service');
  const list = jobs
    .command('list')
    .description('the newest jobs first')
    .option('--limit <number>', 'how many, 1 to 200')
    .option('--status <statuses>', 'only these, separated by commas')
    .option('--language <language>', 'only this language')
    .option('--json', 'as JSON')
    .action(async (options: ListOptions) => ending((await import('./jobs.ts')).listJobs(options)));
  const show = jobs
    .command('show')
    .description('everything the service says about one job, as JSON')
    .argument('<job>')
    .action(async (job: string, options: AccessOptions) => ending((await import('./jobs.ts')).showJob(job, options)));
  const cancel = jobs
    .command('cancel')
    .description('stop a job')
    .argument('<job>')
    .action(async (job: string, options: AccessOptions) => ending((await import('./jobs.ts')).cancelJob(job, options)));
  for (const command of [list, show, cancel]) withAccess(command);
}

function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('try every control of this host, and say how to mend those that do not hold')
    .option('--json', 'everything that was found, as JSON')
    .option('--runtime-packs-dir <directory>', 'where packs are (or SERVICE_RUNTIME_PACKS_DIR)')
    .option('--data-dir <directory>', 'where the service keeps its data (or SERVICE_DATA_DIR)')
    .addHelpText('after', `\nExit codes: ${EXIT.ok} programs can be isolated here, ${EXIT.failed} they cannot.`)
    .action(async (options: DoctorCommandOptions) => ending((await import('./doctor.ts')).doctorCommand(options)));
}

function addPacks(program: Command): void {
  const packs = program.command('packs').description('build, list, verify and remove runtime packs');
  const build = packs
    .command('build')
    .description('build a runtime pack from its recipe, with mmdebstrap, as root')
    .argument('<recipe>', 'the name of a recipe that comes with Vouchbox, or the path of another')
    .action(async (recipe: string, options: PacksOptions) =>
      ending((await import('./packs.ts')).buildPackOf(recipe, options)),
    );
  const list = packs
    .command('list')
    .description('every pack that is built')
    .option('--json', 'as JSON')
    .action(async (options: PacksOptions) => ending((await import('./packs.ts')).listPacksOf(options)));
  const verify = packs
    .command('verify')
    .description('compare every file of a pack with its manifest')
    .argument('<name>')
    .argument('[version]', 'the version (default: the newest)')
    .action(async (name: string, version: string | undefined, options: PacksOptions) =>
      ending((await import('./packs.ts')).verifyPackOf(name, version, options)),
    );
  const remove = packs
    .command('remove')
    .description('remove a pack; a service that offers it must be stopped first')
    .argument('<name>')
    .argument('[version]', 'the version (default: the newest)')
    .action(async (name: string, version: string | undefined, options: PacksOptions) =>
      ending((await import('./packs.ts')).removePackOf(name, version, options)),
    );
  for (const command of [build, list, verify, remove]) {
    command
      .option('--runtime-packs-dir <directory>', 'where packs are (or SERVICE_RUNTIME_PACKS_DIR)')
      .option('--data-dir <directory>', 'where the service keeps its data (or SERVICE_DATA_DIR)');
  }
}

function addKeys(program: Command): void {
  const keys = program.command('keys').description('issue, list, rotate and revoke the keys that callers use');
  const create = keys
    .command('create')
    .description('issue a key: it is printed once, and only its digest is stored')
    .requiredOption('--tenant <tenant>', 'the tenant that the key belongs to')
    .option('--principal <name>', 'who uses the key, as the history of a job names them')
    .option('--scopes <scopes>', 'what the key may do, separated by commas; without it everything')
    .action(async (options: KeysOptions) => ending((await import('./keys.ts')).createKey(options)));
  const list = keys
    .command('list')
    .description('every key and its state, oldest first')
    .option('--tenant <tenant>', 'only the keys of this tenant')
    .action(async (options: KeysOptions) => ending((await import('./keys.ts')).listKeys(options)));
  const rotate = keys
    .command('rotate')
    .description('issue a key that replaces another, which ends, with everything that it holds open')
    .argument('<credential>', 'the identifier of the old key, as the list shows it')
    .option('--overlap <duration>', 'keep the old key valid for this long: 30m, 12h, 7d')
    .action(async (id: string, options: KeysOptions) => ending((await import('./keys.ts')).rotateKey(id, options)));
  const revoke = keys
    .command('revoke')
    .description('end a key now, with everything that it holds open')
    .argument('<credential>', 'its identifier, as the list shows it')
    .action(async (id: string, options: KeysOptions) => ending((await import('./keys.ts')).revokeKey(id, options)));
  for (const command of [create, rotate]) {
    command
      .option('--expires-in <duration>', 'how long the key is valid: 12h, 90d')
      .option('--expires-at <time>', 'until when the key is valid: 2031-01-31T12:00:00Z');
  }
  for (const command of [create, list, rotate, revoke]) {
    command
      .option('--json', 'as JSON')
      .option('--data-dir <directory>', 'where the service keeps its data (or SERVICE_DATA_DIR)')
      .option('--database-url <url>', 'the store, if it is not in the data directory (or SERVICE_DATABASE_URL)');
  }
}

function addExport(program: Command): void {
  const command = program
    .command('export')
    .description('write everything an auditor needs of one job into a directory for service-verify')
    .argument('<job>')
    .option('--output <directory>', 'where; without it a directory named as the job')
    .option('--public-key <file>', 'the key that signed, if the service has replaced it since')
    .option('--evidence-only', 'leave out the program, its input and its output files')
    .option('--data-dir <directory>', 'read the data of a stopped service instead of asking a running one')
    .option('--database-url <url>', 'its store, if it is not in the data directory (or SERVICE_DATABASE_URL)')
    .option('--tenant <tenant>', 'the tenant of the job, with --data-dir')
    .action(async (job: string, options: ExportOptions) =>
      ending((await import('./export.ts')).exportJob(job, options)),
    );
  withAccess(command);
}

function addAttestationKeys(program: Command): void {
  const keys = program.command('attestation-keys').description('rotate, list and export the keys that sign results');
  const rotate = keys
    .command('rotate')
    .description('sign with a new key from now on, also in a service that runs; the old public key is kept')
    .action(async (options: AttestationKeysOptions) =>
      ending((await import('./attestation-keys.ts')).rotateAttestationKey(options)),
    );
  const list = keys
    .command('list')
    .description('every key that ever signed, oldest first')
    .option('--json', 'as JSON')
    .action(async (options: AttestationKeysOptions) =>
      ending((await import('./attestation-keys.ts')).listAttestationKeys(options)),
    );
  const exported = keys
    .command('export')
    .description('the public key as PEM, for those who check results to pin')
    .argument('[key]', 'its identifier, as the list shows it; the current one without')
    .option('--output <file>', 'write it to this file instead of printing it')
    .action(async (key: string | undefined, options: AttestationKeysOptions) =>
      ending((await import('./attestation-keys.ts')).exportAttestationKey(key, options)),
    );
  for (const command of [rotate, list, exported]) {
    command.option('--data-dir <directory>', 'where the service keeps its data (or SERVICE_DATA_DIR)');
  }
}

/** Far above what any of our messages has. */
const lineCharactersMax = 4096;

/** Reports a failure on stderr in as few lines as possible, and returns its exit code. */
function tell(error: unknown, failed: number): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  process.stderr.write(`vouchbox: ${lineOf(error)}\n`);
  return error instanceof UsageError ? EXIT.usage : failed;
}

function lineOf(error: unknown): string {
  const message = messageOf(error);
  if (message !== null) return printable(message, lineCharactersMax);
  return printableText(error instanceof Error ? (error.stack ?? error.message) : String(error));
}

/** A message that a person can act on, perhaps from an untrusted service; null for a bug. */
function messageOf(error: unknown): string | null {
  if (error instanceof ServiceFailure)
    return `${error.message} (${error.code}, request ${error.requestId ?? 'unknown'})`;
  if (error instanceof TransportFailure) return `${error.message}${causeOf(error)}`;
  if (isOperatorError(error)) return error.hint === null ? error.message : `${error.message}; ${error.hint}`;
  return error instanceof UsageError || error instanceof CommandFailure ? error.message : null;
}

/** What the platform's fetch knows beyond "failed", such as a refused connection. */
function causeOf({ cause }: Error): string {
  if (!(cause instanceof Error)) return '';
  return `: ${cause.cause instanceof Error ? cause.cause.message : cause.message}`;
}

const OPERATOR_ERRORS = new Set(['StartError', 'PackError', 'OperatorError', 'SigningKeyError']);

/**
 * An error that an operator can mend. Recognised by name: the classes come with the server, which most commands do not
 * load.
 */
function isOperatorError(error: unknown): error is Error & { readonly hint: string | null } {
  return error instanceof Error && OPERATOR_ERRORS.has(error.name) && 'hint' in error;
}
