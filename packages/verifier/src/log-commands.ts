/** The commands about the log that need no result. */
import type { Command } from 'commander';
import { collect, once, type Stage, tellMade } from './command-line.ts';
import { makeTrustedRoot, type TrustedRootOptions } from './trusted-root.ts';

export function addLogCommands(program: Command, stage: Stage): void {
  addTrustedRoot(program, stage);
}

function addTrustedRoot(program: Command, stage: Stage): void {
  program
    .command('trusted-root')
    .description('write the key of a log as a trusted root for Sigstore’s tools, on stdout or in a new file')
    .requiredOption('--log-key <file>', 'the key of the log, as NAME+HINT+BASE64; may be repeated', collect)
    .option('--output <file>', 'write the root here; the file must not exist', once)
    .action((options: TrustedRootOptions) => tellMade(stage, makeTrustedRoot(options)));
}
