/** The commands about logs of signed results, in the table of commands. */
import type { Command } from 'commander';
import type { WitnessOptions } from '../witness/witness.ts';
import { collect, ending, port, withJson } from './options.ts';

/** `vouchbox witness`. */
export function addWitness(program: Command): void {
  const command = program
    .command('witness')
    .description('sign the heads of a log, each only if it grew from the one before, so that it cannot show two')
    .requiredOption('--state <file>', 'what this witness has signed; made by the first start, and never to be copied')
    .option('--log-key <file>', 'the key of a log to watch; may be given several times', collect, [])
    .option('--key <file>', 'the private key of this witness (default: the state’s file with .key)')
    .option('--name <name>', 'the name of this witness, which its key keeps (default: that of this host)')
    .option('--port <port>', 'where to listen; 0 takes any free port', port, 8787)
    .option('--host <host>', 'the address to listen on', '127.0.0.1')
    .action(async (options: WitnessOptions) => ending((await import('../witness/witness.ts')).witness(options)));
  withJson(command);
}
