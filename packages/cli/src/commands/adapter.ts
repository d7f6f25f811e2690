/** `vouchbox adapter` in the table of commands. */
import { Argument, type Command } from 'commander';
import type { AdapterCommandOptions } from '../adapter.ts';
import { collect, ending, withAccess, withJson } from './options.ts';

/** `vouchbox adapter`. */
export function addAdapter(program: Command): void {
  const command = program
    .command('adapter')
    .description('the interface of another system in front of a service: only the URL of its callers changes')
    .addArgument(new Argument('<system>', 'whose interface').choices(['piston', 'judge0', 'sandbox-fusion']))
    .option('--port <port>', 'where to listen; 0 takes any free port', '2000')
    .option('--host <host>', 'the address to listen on; others than loopback need --caller-key', '127.0.0.1')
    .option('--caller-key <key>', 'what callers must send as Authorization: Bearer KEY (or ADAPTER_KEY)')
    .option(
      '--runtime <language=pack>',
      'the pack that programs in a language run in, such as python=python-data; may be given several times',
      collect,
      [],
    )
    .action(async (system: string, options: AdapterCommandOptions) => {
      const { adapter } = await import('../adapter.ts');
      await ending(adapter(system, options));
    });
  withJson(withAccess(command));
}
