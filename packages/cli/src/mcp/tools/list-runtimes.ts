/** The tool `list_runtimes`: the languages and packs of the service, with their limits. */
import type { McpServer } from '@modelcontextprotocol/server';
import type { ServiceClient } from '@vouchbox/client';
import { type Capabilities, Capabilities as CapabilitiesSchema, Closed, type Static, Type } from '@vouchbox/protocol';
import { told } from '../told-text.ts';
import { addTool } from '../tool.ts';

const { languages, isolation_class, runtime_packs, limits, artifacts } = CapabilitiesSchema.properties;
const Runtimes = Type.Object({ languages, isolation_class, runtime_packs, limits, artifacts });
type Runtimes = Static<typeof Runtimes>;
export type Packs = Runtimes['runtime_packs'];

export function addListRuntimes(server: McpServer, client: ServiceClient): void {
  addTool(server, 'list_runtimes', {
    title: 'List languages and packs',
    description: 'The languages, the packs with libraries, the isolation class and the limits of this service.',
    input: Closed({}),
    output: Runtimes,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    run: async (_asked, { mcpReq: { signal } }) => {
      const runtimes = runtimesOf(await client.capabilities({ signal }));
      return { structuredContent: { ...runtimes }, content: [{ type: 'text', text: asText(runtimes) }] };
    },
  });
}

function runtimesOf({ languages, isolation_class, runtime_packs, limits, artifacts }: Capabilities): Runtimes {
  return { languages, isolation_class, runtime_packs, limits, artifacts };
}

/** The most libraries of one pack that the text names; `runtime_packs` has all of them. */
const namedLibrariesMax = 120;

/** One line, or none if a pack does not list its contents. */
export function libraryLine({ name, libraries }: Packs[number]): string[] {
  if (libraries === undefined) return [];
  const words = libraries.map(({ name: library, version, modules }) => {
    const others = modules.includes(library) ? [] : modules.slice(0, 3);
    return `${library} ${version ?? ''}`.trim() + (others.length > 0 ? ` (import ${others.join(', ')})` : '');
  });
  const more = words.length > namedLibrariesMax ? `, and ${words.length - namedLibrariesMax} more` : '';
  return [`libraries of ${told(name)}: ${words.slice(0, namedLibrariesMax).map(told).join(', ') || 'none'}${more}`];
}

function asText({ languages, isolation_class, runtime_packs, limits }: Runtimes): string {
  const packs = runtime_packs.map(
    ({ name, version, languages: of }) => `${told(name)} ${told(version)} (${told(of.join(', '))})`,
  );
  const { wall_seconds, mem_mb } = limits.ceilings;
  return [
    `languages: ${told(languages.join(', '))}`,
    `packs: ${packs.join('; ') || 'none'}`,
    ...runtime_packs.flatMap(libraryLine),
    `isolation: ${isolation_class ?? 'none is ready'}; no network`,
    `a program may take ${wall_seconds} seconds and ${mem_mb} MiB at most`,
  ].join('\n');
}
