/**
 * The `service-verify` command: its options, and how its verdict is shown. It reads the files that it is given and
 * nothing else: no network, no service, no stored trust. Each command is in its own file.
 */
import { readFileSync } from 'node:fs';
import { printable, RESULT_MEDIA_TYPE } from '@vouchbox/protocol/vocabulary';
import { Command, CommanderError } from 'commander';
import type { Expectation } from './attestation.ts';
import { type BundleOptions, makeBundle } from './bundle.ts';
import { type ChainOptions, verifyHistory } from './chain.ts';
import {
  collect,
  type Ending,
  type OutputOptions,
  once,
  type Stage,
  tell,
  tellMade,
  withTrust,
} from './command-line.ts';
import { type DirectoryOptions, verifyDirectory } from './directory.ts';
import { drawGraph } from './draw-graph.ts';
import { EXIT } from './exit-code.ts';
import { type GraphOptions, verifyGraphDirectory } from './graph-directory.ts';
import { addLogCommands } from './log-commands.ts';
import type { PolicyOptions } from './policy.ts';
import { requirementForms } from './requirement.ts';
import { showJson, showText } from './show-report.ts';
import { UsageError } from './usage-error.ts';
import { verifyVerdictDirectory } from './verdict-directory.ts';
import { type AttestationFiles, type TrustOptions, verify, verifyPolicy } from './verify.ts';

export { readExportDirectory } from './export-directory.ts';
export { readLog, readNoteKey, rememberHead } from './log-files.ts';
export { readWhole } from './read-file.ts';

/** Runs one command line, given without the program's name, and returns how it ends. Only a bug throws. */
export async function serviceVerify(words: readonly string[]): Promise<Ending> {
  const said = { stdout: '', stderr: '' };
  let ending: Ending | null = null;
  const program = verifierCommand({
    said,
    end: (result) => {
      ending = result;
    },
  });
  try {
    await program.parseAsync([...words], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return { exitCode: error.exitCode === 0 ? EXIT.good : EXIT.usage, ...said };
    if (!(error instanceof UsageError)) throw error;
    return { exitCode: EXIT.usage, stdout: '', stderr: `service-verify: ${printable(error.message)}\n` };
  }
  return ending ?? { exitCode: EXIT.usage, ...said };
}

function verifierCommand(stage: Stage): Command {
  const program = new Command('service-verify')
    .description('Check results of the service offline, against a key that you pinned.')
    .version(ownVersion())
    .exitOverride()
    .showHelpAfterError('(service-verify --help lists the commands, service-verify COMMAND --help its options)')
    .configureOutput({
      writeOut: (text) => {
        stage.said.stdout += text;
      },
      writeErr: (text) => {
        stage.said.stderr += text;
      },
    })
    .addHelpText('after', EXIT_HELP);
  addVerify(program, stage);
  addPolicy(program, stage);
  addChain(program, stage);
  addDirectory(program, stage);
  addVerdict(program, stage);
  addGraph(program, stage);
  addBundle(program, stage);
  addLogCommands(program, stage);
  return program;
}

function ownVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

const EXIT_HELP = `
Exit codes: ${EXIT.good} good, ${EXIT.usage} usage, ${EXIT.signature} signature or key, ${EXIT.subject} subject digest,
${EXIT.profile} profile, ${EXIT.policy} policy, ${EXIT.record} history, receipt or files that contradict one another,
${EXIT.notAnExport} not an export, such as a foreign or too large file in the directory.`;

function addVerify(program: Command, stage: Stage): void {
  const command = program
    .command('verify')
    .description('is this result the one that a pinned key signed, about this job of this tenant?');
  withAttestation(command)
    .requiredOption('--subject-name <name>', 'the result you expect: svc://jobs/<job_id>/result', once)
    .action(async (options: AttestationOptions) => {
      tell(stage, options, await verify(options, expectationOf(options)));
    });
}

function addPolicy(program: Command, stage: Stage): void {
  const command = program
    .command('policy')
    .description('verify, and then compare the signed receipt with your requirements');
  withPolicy(withAttestation(command))
    .option('--subject-name <name>', 'the result you expect; without it, any signed result', once)
    .action(async (options: AttestationOptions & PolicyOptions) => {
      tell(stage, options, await verifyPolicy(options, expectationOf(options), options));
    });
}

function addChain(program: Command, stage: Stage): void {
  program
    .command('chain')
    .description('recompute every link of a job’s history, and name the first event that is wrong')
    .argument('<file...>', 'replay pages in order, or an export with one event a line')
    .option('--receipt <file>', 'the job’s receipt or detail, which shows whether the end was cut off', once)
    .option('--json', 'print it as JSON')
    .action((files: readonly string[], options: ChainOptions & OutputOptions) => {
      tell(stage, options, verifyHistory(files, options));
    });
}

function addDirectory(program: Command, stage: Stage): void {
  const command = program
    .command('directory')
    .description('check everything in the directory of an exported job')
    .argument('<directory>')
    .option('--job <job_id>', 'the job you expect; without it, any exported job', once);
  withPolicy(withCanary(withLog(withTrust(command)))).action(
    async (directory: string, options: DirectoryOptions & OutputOptions) => {
      tell(stage, options, await verifyDirectory(directory, options));
    },
  );
}

function addVerdict(program: Command, stage: Stage): void {
  const command = program
    .command('verdict')
    .description('check a verdict of `vouchbox grade`: who judged, and that each line follows from a signed job')
    .argument('<directory>');
  withTrust(command).action(async (directory: string, options: TrustOptions & OutputOptions) => {
    tell(stage, options, await verifyVerdictDirectory(directory, options));
  });
}

function addGraph(program: Command, stage: Stage): void {
  const command = program
    .command('graph')
    .description(
      'check a job and all jobs that it depends on, as `vouchbox export --with-inputs` wrote them, and draw them',
    )
    .argument('<directory>')
    .option('--job <job_id>', 'the job you expect; without it, the job of the graph', once);
  withTrust(command).action(async (directory: string, options: GraphOptions & OutputOptions) => {
    const report = await verifyGraphDirectory(directory, options);
    const { exitCode } = report;
    if (options.json) return stage.end({ exitCode, ...showJson(report, { jobs: [...report.jobs.values()] }) });
    const { stdout, stderr } = showText(report);
    const drawn = drawGraph(report).map((line) => `${line}\n`);
    stage.end({ exitCode, stdout: `${stdout}${drawn.join('')}`, stderr });
  });
}

function addBundle(program: Command, stage: Stage): void {
  program
    .command('bundle')
    .description('wrap a signed envelope as a Sigstore bundle, on stdout or in a new file')
    .requiredOption('--envelope <file>', 'the DSSE envelope', once)
    .requiredOption('--public-key <file>', 'a pinned key as PEM; may be repeated', collect)
    .option('--log-proof <file>', 'the proof that the log has the envelope, whose entry the bundle then has', once)
    .option('--log-key <file>', 'the key of the log, as NAME+HINT+BASE64', once)
    .option('--output <file>', 'write the bundle here; the file must not exist', once)
    .action(async (options: BundleOptions) => tellMade(stage, await makeBundle(options)));
}

type AttestationOptions = AttestationFiles &
  Omit<Expectation, 'mediaType'> & { readonly mediaType?: string } & OutputOptions;

function withAttestation(command: Command): Command {
  return withCanary(
    withLog(
      withTrust(command)
        .requiredOption('--envelope <file>', 'the DSSE envelope, as served', once)
        .requiredOption('--subject <file>', 'the result artifact, as served', once)
        .option('--media-type <type>', `the media type you expect (default: ${RESULT_MEDIA_TYPE})`, once),
    ),
  );
}

function withLog(command: Command): Command {
  return command
    .option('--log-proof <file>', 'the proof that the log has the envelope', once)
    .option('--log-key <file>', 'the key of the log, as NAME+HINT+BASE64', once)
    .option('--witness <file>', 'the key of a witness of the log, as NAME+HINT+BASE64; may be repeated', collect, [])
    .option('--log-state <file>', 'remember the largest head of the log here, and demand that the log only grows', once)
    .option(
      '--accept-reopened',
      'accept a later tree of the log, although entries of the earlier one are no longer provable',
    )
    .option('--log-consistency <file>', 'a proof that the log only grew; may be repeated', collect, [])
    .option(
      '--after-head <file>',
      'a head that a witness saw; a job that ended long before it must be in its log; may be repeated',
      collect,
      [],
    )
    .option('--log-delay <duration>', 'how long after its end a job may reach the log (default: 10m)', once);
}

function withCanary(command: Command): Command {
  return command.option('--canary <file>', 'the signed envelope of the canary that the job names', once);
}

function withPolicy(command: Command): Command {
  return command
    .option('--require <requirement>', 'something the receipt must say; may be repeated', collect, [])
    .option('--code-sha256 <hex>', 'the SHA-256 of the program that must have run', once)
    .option('--max-age <duration>', 'how long ago the job may have finished, such as 12h', once)
    .addHelpText(
      'after',
      `\nRequirements:\n${requirementForms()
        .map((form) => `  ${form}\n`)
        .join('')}`,
    );
}

/** The options about the expected statement, without those that were not given. */
function expectationOf({ tenant, subjectName, mediaType = RESULT_MEDIA_TYPE }: AttestationOptions): Expectation {
  return { tenant, mediaType, ...(subjectName !== undefined && { subjectName }) };
}
