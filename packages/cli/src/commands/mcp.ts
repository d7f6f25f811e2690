/** `vouchbox mcp` and `vouchbox mcp config` in the table of commands. */
import type { Command } from 'commander';
import type { McpOptions } from '../mcp/mcp.ts';
import type { AccessOptions } from '../service/service-access.ts';
import { ending, withAccess, withJson } from './options.ts';

/** `vouchbox mcp`, and `vouchbox mcp config`. */
export function addMcp(program: Command, version: string): void {
  const command = program
    .command('mcp')
    .description('the tools of a service for agents, over stdio (Model Context Protocol)')
    .option('--http <port>', 'serve HTTP on this port of 127.0.0.1 in place of stdio; 0 takes any')
    .option('--public-key <file...>', 'the keys that verify_job trusts', [])
    .action(async (options: McpOptions) => {
      const { mcp } = await import('../mcp/mcp.ts');
      await ending(mcp(options, version));
    });
  const config = command
    .command('config')
    .description('print what to paste into the settings of claude, cursor or vscode')
    .argument('<program>', 'claude, cursor or vscode')
    .action(async (asked: string, _options: AccessOptions, own: Command) => {
      const { mcpConfiguration } = await import('../mcp/mcp.ts');
      // The command above has the same options, and takes them.
      process.exitCode = mcpConfiguration(asked, own.optsWithGlobals<AccessOptions>());
    });
  withJson(withAccess(command));
  withJson(withAccess(config));
}
