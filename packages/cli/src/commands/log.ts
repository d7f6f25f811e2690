/** Adds the commands about logs of signed results to the table of commands. */
import type { Command } from 'commander';
import { MONITOR_EXIT } from '../failures/exit-code.ts';
import { collect, port, running, seconds, withDataDirectory, withJson } from './options.ts';

export function addMonitor(program: Command): void {
  program
    .command('monitor')
    .description('follow a log, and exit at the first head that did not grow from the one before; needs no credential')
    .argument('<url...>', 'addresses of the service that keeps the log; the heads that they show are compared')
    .requiredOption('--log-key <file>', 'the key of the log, as NAME+HINT+BASE64')
    .requiredOption('--state <file>', 'the file that remembers the largest head that was seen')
    .option('--witness <file>', 'the key of a witness of the log; may be given several times', collect, [])
    .option(
      '--promise <file>',
      'a promise; the first witnessed head after the promised time is written to a file beside it',
      collect,
      [],
    )
    .option('--accept-reopened', 'accept a later tree of the log at the first look')
    .option('--every <seconds>', 'how long to wait between two looks', seconds, 60)
    .option('--once', 'look once')
    .option('--json', 'a line of JSON for each look')
    .addHelpText(
      'after',
      `\nExit codes: ${MONITOR_EXIT.cheated} the log contradicts what was seen of it, ${MONITOR_EXIT.unanswered} an address does not answer.`,
    )
    .action(running(async () => (await import('../monitor/monitor.ts')).monitor));
}

export function addWitness(program: Command): void {
  const command = program
    .command('witness')
    .description('sign the heads of a log, each only if it grew from the one before, so that the log cannot fork')
    .requiredOption(
      '--state <file>',
      "the file of this witness's signed heads; the first start makes it; never copy it",
    )
    .option('--log-key <file>', 'the key of a log to watch; may be given several times', collect, [])
    .option('--key <file>', 'the private key of this witness (default: the state’s file with .key)')
    .option('--name <name>', 'the name of this witness, as its key has it (default: the name of this host)')
    .option('--port <port>', 'where to listen; 0 takes any free port', port, 8787)
    .option('--host <host>', 'the address to listen on', '127.0.0.1')
    .action(running(async () => (await import('../witness/witness.ts')).witness));
  withJson(command);
}

/** `vouchbox log` and its subcommand. */
export function addLog(program: Command): void {
  const log = program.command('log').description('open the next tree of a log of signed results');
  const reopen = log
    .command('reopen')
    .description('open the next tree in the running service, after its store was rolled back, restored or copied')
    .option('--yes', 'confirm that the present tree is abandoned')
    .action(running(async () => (await import('../operator/reopen-log.ts')).reopen));
  withJson(withDataDirectory(reopen));
}
