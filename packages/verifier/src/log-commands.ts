/** Commands about the log other than checks of one result: they make roots for other tools, or compare files that people hold. */
import { type Command, InvalidArgumentError } from 'commander';
import { type AgreeOptions, compareDirectories } from './agree-directories.ts';
import { collect, type OutputOptions, once, type Stage, tell, tellMade, withKeys, withTrust } from './command-line.ts';
import { compareHeads, type HeadOptions } from './head.ts';
import { type PromiseOptions, verifyPromise } from './promise.ts';
import { compareResults } from './same.ts';
import { showJson, showText } from './show-report.ts';
import { type TenantOptions, verifyTenant } from './tenant.ts';
import { makeTrustedRoot, type TrustedRootOptions } from './trusted-root.ts';
import type { TrustOptions } from './verify.ts';

export function addLogCommands(program: Command, stage: Stage): void {
  addTrustedRoot(program, stage);
  addHead(program, stage);
  addSame(program, stage);
  addAgree(program, stage);
  addTenant(program, stage);
  addPromise(program, stage);
}

function addTrustedRoot(program: Command, stage: Stage): void {
  program
    .command('trusted-root')
    .description('write the key of a log as a trusted root for Sigstore’s tools, on stdout or in a new file')
    .requiredOption('--log-key <file>', 'the key of the log, as NAME+HINT+BASE64; may be repeated', collect)
    .option('--output <file>', 'write the root here; the file must not exist', once)
    .action((options: TrustedRootOptions) => tellMade(stage, makeTrustedRoot(options)));
}

function addHead(program: Command, stage: Stage): void {
  program
    .command('head')
    .description('compare two heads of a log: are they the same, did one grow from the other, or do they fork?')
    .argument('<file>', 'a checkpoint, or a proof that has one')
    .argument('<other>', 'another')
    .requiredOption('--log-key <file>', 'the key of the log, as NAME+HINT+BASE64', once)
    .option('--log-consistency <file>', 'a proof that the log only grew; may be repeated', collect, [])
    .option('--json', 'print it as JSON')
    .action(async (file: string, other: string, options: HeadOptions & OutputOptions) => {
      tell(stage, options, await compareHeads([file, other], options));
    });
}

function addSame(program: Command, stage: Stage): void {
  const command = program
    .command('same')
    .description('compare two signed results: are they the same one, two of one job or one job number, or of two jobs?')
    .argument('<result>', 'the directory of an exported job, or a DSSE envelope')
    .argument('<other>', 'another');
  withKeys(command).action(
    async (result: string, other: string, options: Pick<TrustOptions, 'publicKey'> & OutputOptions) => {
      tell(stage, options, await compareResults([result, other], options));
    },
  );
}

function addAgree(program: Command, stage: Stage): void {
  const command = program
    .command('agree')
    .description('compare the results that several services signed for one program with one input')
    .argument('<directory...>', 'exports of the job, one from each service')
    .option(
      '--require <requirement>',
      'operators>=N, for at least N different keys, or a requirement on each receipt; may be repeated',
      collect,
      [],
    );
  withKeys(command).action(async (directories: readonly string[], options: AgreeOptions & OutputOptions) => {
    const report = await compareDirectories(directories, options);
    const { exitCode, agreement, members, runs } = report;
    stage.end({ exitCode, ...(options.json ? showJson(report, { agreement, members, runs }) : showText(report)) });
  });
}

function addTenant(program: Command, stage: Stage): void {
  const command = program
    .command('tenant')
    .description('check exports of one tenant, and that none of its jobs is missing')
    .argument('<directory...>')
    .option('--jobs <number>', 'how many jobs the tenant has had', wholeNumber)
    .option(
      '--promise <file>',
      "a promise of the tenant's last job, which names its number; may be repeated",
      collect,
      [],
    );
  withTrust(command).action(async (directories: readonly string[], options: TenantOptions & OutputOptions) => {
    tell(stage, options, await verifyTenant(directories, options));
  });
}

function wholeNumber(text: string, earlier: number | undefined): number {
  if (earlier !== undefined) throw new InvalidArgumentError('It is given twice.');
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1.');
  return Number(text);
}

function addPromise(program: Command, stage: Stage): void {
  const command = program
    .command('promise')
    .description('was this promise of an accepted job signed by a pinned key, and was it kept?')
    .argument('<file>', 'the promise, as served');
  withTrust(command)
    .option('--job <job_id>', 'the job you expect; without it, any promised job', once)
    .option('--log-key <file>', 'the key of the log, as NAME+HINT+BASE64', once)
    .option('--witness <file>', 'the key of a witness of the log, as NAME+HINT+BASE64; may be repeated', collect, [])
    .option('--envelope <file>', 'the DSSE envelope of the result, as served', once)
    .option('--log-proof <file>', 'the proof that the log has the envelope', once)
    .option('--pending <file>', "the service's statements about the job while it waits", once)
    .option('--head <file>', 'a head of the log that a witness saw; may be repeated', collect, [])
    .option('--require <requirement>', 'kept: fail with 5 where the promise is not kept yet', collect, [])
    .action(async (file: string, options: PromiseOptions & OutputOptions) => {
      tell(stage, options, await verifyPromise(file, options));
    });
}
