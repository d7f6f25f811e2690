/** `vouchbox adapter` in the table of commands. */
import type { Command } from 'commander';
import type { AdapterCommandOptions } from '../adapter.ts';
import { ending, withAccess, withJson } from './options.ts';

/** `vouchbox adapter`. */
export function addAdapter(program: Command): void {
  const command = program
    .command('adapter')
    .description('the interface of another system in front of a service: only the URL of its callers changes')
    .argument('<system>', 'piston, judge0 or sandbox-fusion')
    .option('--port <port>', 'where to listen; 0 takes any free port', '2000')
    .option('--host <host>', 'the address to listen on; others than loopback need --caller-key', '127.0.0.1')
    .option('--caller-key <key>', 'what callers must send as Authorization: Bearer KEY (or ADAPTER_KEY)')
    .action(async (system: string, options: AdapterCommandOptions) => {
      const { adapter } = await import('../adapter.ts');
      await ending(adapter(system, options));
    });
  withJson(withAccess(command));
}
