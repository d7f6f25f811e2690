/** Tools from other MCP servers that programs may call: those that the user allowed, under names that programs can use. */
import type { Tool } from '@modelcontextprotocol/client';
import type { RunTools } from '@vouchbox/client';
import { canonicalJson } from '@vouchbox/evidence';
import { toolDescriptionCharsMax, toolSchemaBytesMax, toolsMax } from '@vouchbox/protocol';
import { CommandFailure } from '../../failures/command-failure.ts';
import { UsageError } from '../../failures/usage-error.ts';
import { note } from '../../terminal/print.ts';
import { told } from '../told-text.ts';
import { takenSchema } from './taken-schema.ts';
import { ToolServer, type ToolServerOptions } from './tool-server.ts';

export interface ToolsFromOptions {
  /** Shell commands that serve MCP over stdio, and addresses where MCP is served over HTTP. */
  readonly toolsFrom: readonly string[];
  /** Names of the tools that programs may call, or `*` for all tools. */
  readonly allowTool: readonly string[];
}

export interface OfferedTools extends AsyncDisposable {
  /** Empty if no server was named. */
  readonly tools: RunTools;
  /** The text about the tools for a model; empty if there are no tools. */
  readonly description: string;
}

interface Found {
  /** The name by which programs call the tool. */
  readonly name: string;
  readonly tool: Tool;
  readonly server: ToolServer;
}

const ALL = '*';

/**
 * Lists the servers' tools once. If a server changes a tool later, the list stays the same.
 * @throws UsageError if no tool is allowed, or an allowed tool does not exist
 */
export async function openOfferedTools(
  { toolsFrom, allowTool }: ToolsFromOptions,
  { signal, ...options }: ToolServerOptions & { readonly signal: AbortSignal },
): Promise<OfferedTools> {
  checkAllowed({ toolsFrom, allowTool });
  await using opened = new AsyncDisposableStack();
  const servers = toolsFrom.map((source) => opened.use(new ToolServer(source, options)));
  const found = (await Promise.all(servers.map((server) => toolsOf(server, signal)))).flat();
  const offered = allowed(found, allowTool);
  if (toolsFrom.length > 0) check(found, offered, allowTool);
  const kept = opened.move();
  return {
    tools: definitionsOf(offered),
    description: descriptionOf(offered),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** @throws UsageError if tools are allowed but no tool server is named */
export function checkAllowed({ toolsFrom, allowTool }: ToolsFromOptions): void {
  if (allowTool.length > 0 && toolsFrom.length === 0) throw new UsageError('--allow-tool is for tools of --tools-from');
}

async function toolsOf(server: ToolServer, signal: AbortSignal): Promise<readonly Found[]> {
  try {
    return (await server.tools(signal)).map((tool) => ({ name: nameOf(tool), tool, server }));
  } catch (error) {
    throw new CommandFailure(`no tools came from ${server.source}: ${(error as Error).message}`);
  }
}

/** The name that programs use for a tool: letters, digits, `_` and `-`, with a letter or a digit first. */
function nameOf({ name }: Tool): string {
  return name
    .replace(/^[^A-Za-z0-9]+/, '')
    .replaceAll(/[^A-Za-z0-9_-]/g, '_')
    .slice(0, 64);
}

function allowed(found: readonly Found[], names: readonly string[]): readonly Found[] {
  if (names.includes(ALL)) return found;
  return found.filter(({ name, tool }) => names.includes(name) || names.includes(tool.name));
}

function check(found: readonly Found[], offered: readonly Found[], names: readonly string[]): void {
  const list = found.map(({ tool }) => told(tool.name)).join(', ');
  if (names.length === 0)
    throw new UsageError(`programs may call only allowed tools: give --allow-tool for some of ${list}, or '*'`);
  const absent = names.find((name) => name !== ALL && allowed(found, [name]).length === 0);
  if (absent !== undefined) throw new UsageError(`--allow-tool ${absent}: there is no such tool; there are ${list}`);
  const unnamed = offered.find(({ name }) => name === '');
  if (unnamed !== undefined) throw new UsageError(`the tool ${unnamed.tool.name} has a name that no program can use`);
  for (const [at, { name, server }] of offered.entries()) {
    const other = offered.slice(0, at).find((earlier) => earlier.name === name)?.server;
    if (other === undefined) continue;
    const of = other === server ? `of ${server.source}` : `one of ${other.source} and one of ${server.source}`;
    throw new UsageError(
      `two tools would have the name ${name}, ${of}: leave out one of these --tools-from, or rename the tool`,
    );
  }
  if (offered.length > toolsMax)
    throw new UsageError(`${offered.length} tools are allowed, and a job has at most ${toolsMax}: ${list}`);
}

/** Schemas for arguments come first. A schema for results is left out if there is no room for it. */
function definitionsOf(offered: readonly Found[]): RunTools {
  let bytesLeft = toolSchemaBytesMax;
  const fitting = (schema: unknown) => {
    const taken = schema === undefined ? undefined : takenSchema(schema);
    const bytes = taken === undefined ? 0 : Buffer.byteLength(canonicalJson(taken));
    if (bytes > bytesLeft) return undefined;
    bytesLeft -= bytes;
    return taken;
  };
  const given = offered.map(({ name, tool }) => {
    const schema = fitting(tool.inputSchema);
    if (schema === undefined)
      note(`the service does not check the arguments of ${name}, because it does not support their schema`);
    return schema;
  });
  const tools = offered.map(({ name, tool, server }, at) => [
    name,
    {
      description: tool.description?.slice(0, toolDescriptionCharsMax).toWellFormed(),
      arguments: given[at],
      result: fitting(tool.outputSchema),
      execute: (words: unknown, call: { readonly signal: AbortSignal }) => server.call(tool.name, words, call.signal),
    },
  ]);
  return Object.fromEntries(tools) as RunTools;
}

/** The most characters of the text about all tools. A model has this text in its context at each turn. */
const toldCharsMax = 16 * 1024;

const HOW = `Programs may call tools. Nothing has to be imported: tools.NAME(argument=value) in Python (in a coroutine with
await), await tools.NAME({argument: value}) in JavaScript and TypeScript, and in bash the command tool NAME '{"argument": value}', which prints
the result as JSON. A call that fails raises tools.ToolError in Python, and throws in JavaScript. A name with - is getattr(tools, "NAME") and
tools["NAME"]. A result is JSON where the tool has structured results, else text. The tools, with the JSON Schemas of their arguments:`;

function descriptionOf(offered: readonly Found[]): string {
  if (offered.length === 0) return '';
  const charsMax = Math.floor(toldCharsMax / offered.length);
  const lines = offered.map(({ name, tool: { description = '', inputSchema } }) => {
    const { $schema: _, ...schema } = inputSchema as Record<string, unknown>;
    return `${name}: ${told(cut(description, charsMax / 2))} ${told(cut(JSON.stringify(schema), charsMax / 2))}`;
  });
  return [HOW, ...lines].join('\n');
}

function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax)}…`;
}
