/** `vouchbox adapter` on the command line. */
import type { Command } from 'commander';
import type { AdapterCommandOptions } from './adapter.ts';

/** Adds the command, and returns it: it takes the options of every command that calls a service. */
export function addAdapter(program: Command): Command {
  return program
    .command('adapter')
    .description('the interface of another system in front of a service: only the URL of its callers changes')
    .argument('<system>', 'piston, judge0 or sandbox-fusion')
    .option('--port <port>', 'where to listen; 0 takes any free port', '2000')
    .option('--host <host>', 'the address to listen on; others than loopback need --caller-key', '127.0.0.1')
    .option('--caller-key <key>', 'what callers must send as Authorization: Bearer KEY (or ADAPTER_KEY)')
    .action(async (system: string, options: AdapterCommandOptions) => {
      const { adapter } = await import('./adapter.ts');
      process.exitCode = await adapter(system, options);
    });
}
