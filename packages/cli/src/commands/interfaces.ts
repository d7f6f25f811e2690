/** Adds the commands that put another interface in front of a service to the table of commands. */
import type { AdapterName } from '@vouchbox/adapters';
import { Argument, type Command } from 'commander';
import type { ConfiguredProgram } from '../mcp/client-configuration.ts';
import type { McpOptions } from '../mcp/mcp.ts';
import { collect, ending, port, running, withAccess, withJson } from './options.ts';

/** The names are repeated here because the code that defines them is loaded only when its command runs. */
const ADAPTER_NAMES: AdapterName[] = ['piston', 'judge0', 'sandbox-fusion'];
const CONFIGURED_PROGRAMS: ConfiguredProgram[] = ['claude', 'cursor', 'vscode'];

/** `vouchbox mcp`, and `vouchbox mcp config`. */
export function addMcp(program: Command, version: string): void {
  const command = program
    .command('mcp')
    .description('the tools of a service for agents, over stdio (Model Context Protocol)')
    .option('--http <port>', 'serve HTTP on this port of 127.0.0.1 instead of stdio; 0 takes any', port)
    .option('--public-key <file...>', 'the keys that verify_job trusts', [])
    .option(
      '--tools-from <command or url>',
      'another MCP server, whose allowed tools the programs of run_code may call; may be given several times',
      collect,
      [],
    )
    .option(
      '--allow-tool <name>',
      "a tool of --tools-from that programs may call, or '*' for all of its tools",
      collect,
      [],
    )
    .action(async (options: McpOptions) => {
      const { mcp } = await import('../mcp/mcp.ts');
      await ending(mcp(options, version));
    });
  const config = command
    .command('config')
    .description('print a snippet for the settings of claude, cursor or vscode')
    .addArgument(new Argument('<program>', 'whose settings').choices(CONFIGURED_PROGRAMS))
    .action(async (asked: ConfiguredProgram, _options: object, own: Command) => {
      const { mcpConfiguration } = await import('../mcp/mcp.ts');
      // `vouchbox mcp` has the same options, and commander gives their values to it, not to `mcp config`.
      await ending(mcpConfiguration(asked, own.optsWithGlobals<McpOptions>()));
    });
  withJson(withAccess(command));
  withJson(withAccess(config));
}

export function addAdapter(program: Command): void {
  const command = program
    .command('adapter')
    .description('serve the interface of another system in front of a service: callers change only their URL')
    .addArgument(new Argument('<system>', 'whose interface').choices(ADAPTER_NAMES))
    .option('--port <port>', 'where to listen; 0 takes any free port', port, 2000)
    .option('--host <host>', 'the address to listen on; any other than loopback needs --caller-key', '127.0.0.1')
    .option('--caller-key <key>', 'the key that callers must send as Authorization: Bearer KEY (or ADAPTER_KEY)')
    .option(
      '--runtime <language=pack>',
      'the pack that programs in a language run in, such as python=python-data; may be given several times',
      collect,
      [],
    )
    .action(running(async () => (await import('../adapter.ts')).adapter));
  withJson(withAccess(command));
}
