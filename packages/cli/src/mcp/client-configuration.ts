/** The snippet that a user pastes into the settings of a program that uses MCP servers. */
import { printableJson } from '@vouchbox/protocol/vocabulary';

export interface ServedBy {
  /** The service to call; null if the command starts its own service. */
  readonly url: string | null;
  /** The profile of `vouchbox login` to call; null if there is none. */
  readonly profile: string | null;
  /** The command's absolute path, because a program may start its servers in any directory, with any PATH. */
  readonly command: string;
  /** Options of the command. */
  readonly options: readonly string[];
}

/** The file in which each program keeps its servers, and the member that lists them. */
const PROGRAMS = {
  claude: { member: 'mcpServers', where: 'claude_desktop_config.json, or .mcp.json of a project' },
  cursor: { member: 'mcpServers', where: '.cursor/mcp.json' },
  vscode: { member: 'servers', where: '.vscode/mcp.json' },
} as const;

export type ConfiguredProgram = keyof typeof PROGRAMS;

/**
 * The snippet as JSON, and the file that it belongs in. The snippet never contains the key: that comes from the program's
 * environment.
 */
export function clientConfiguration(
  program: ConfiguredProgram,
  { url, profile, command, options }: ServedBy,
): { readonly where: string; readonly json: string } {
  const { member, where } = PROGRAMS[program];
  const server = {
    ...(program === 'vscode' && { type: 'stdio' }),
    command,
    args: ['mcp', ...(profile === null ? [] : ['--profile', profile]), ...options],
    ...(url !== null && { env: { SERVICE_URL: url, SERVICE_KEY: 'the key that `vouchbox keys create` printed' } }),
  };
  return { where, json: printableJson({ [member]: { vouchbox: server } }, 2) };
}
