/** The tool `run_code`: one program, one cell, one answer. */
import type { CallToolResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import type { RunTools, ServiceClient } from '@vouchbox/client';
import {
  Closed,
  type EventData,
  ISOLATION_CLASSES,
  type JobEvent,
  Labels,
  LargeOutputs,
  Libraries,
  OutputPath,
  ProgramArguments,
  ProgramVariables,
  printableText,
  SessionName,
  type Static,
  Type,
} from '@vouchbox/protocol';
import { InputFile, withFiles } from '../input-file.ts';
import { JobAnswer, jobAnswer, jobOfRun } from '../job-answer.ts';
import { cutText } from '../told-text.ts';
import { addTool } from '../tool.ts';
import { libraryLine, type Packs } from './list-runtimes.ts';

const RunCode = Closed({
  language: Type.String({ description: 'python, node, typescript, bash, or another that list_runtimes names.' }),
  code: Type.String({ minLength: 1, description: 'The whole program.' }),
  stdin: Type.Optional(Type.String()),
  args: Type.Optional(ProgramArguments),
  env: Type.Optional(ProgramVariables),
  files: Type.Optional(Type.Array(InputFile, { description: 'Files for this run; files of earlier runs are gone.' })),
  outputs: Type.Optional(
    Type.Array(OutputPath, { description: 'Files to bring back; without it everything below output/.' }),
  ),
  large_outputs: Type.Optional(LargeOutputs),
  runtime: Type.Optional(
    Type.String({ description: 'A pack with libraries, such as python-data; see list_runtimes.' }),
  ),
  timeout_seconds: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: 'Wall clock.' })),
  memory_mb: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  minimum_isolation: Type.Optional(
    Type.Enum([...ISOLATION_CLASSES], { description: 'Refuse to run in a weaker isolation class.' }),
  ),
  libraries: Type.Optional(Libraries),
  session: Type.Optional(SessionName),
  labels: Type.Optional(Labels),
  reproducible: Type.Optional(
    Type.Boolean({
      description: 'Fix the hash seeds of Python and Perl, so that a set has the same order in every run.',
    }),
  ),
  promise: Type.Optional(
    Type.Boolean({
      description: 'Run the program only with a signed promise of a time by which the public log answers for the job.',
    }),
  ),
});
type RunCode = Static<typeof RunCode>;

const DESCRIPTION = `Runs one program in a fresh cell. It has no network, and nothing is kept between calls: pass files in again, or name a file that an
earlier job left with from. Or give a session, any name: a run begins with the variables and files of /work that the last run of this name left.
Write results to output/: everything there comes back, and pictures are shown. Name files of more than 2 MiB in large_outputs. A program that fails is a result with
its exit code and stderr; an error means that nothing ran. TypeScript is run without its types, which nothing checks: no
enum, namespace or parameter property. Libraries come in packs: list_runtimes names them.`;

/** The most characters about libraries in the description. A model has the description in its context at each turn. */
const librariesCharsMax = 4096;

/** Tools that programs may call, and the text that describes those tools to a model. */
export interface CallableTools {
  readonly tools: RunTools;
  readonly description: string;
}

/** The description of `run_code`, with the libraries of these packs and the tools that programs may call. */
export function runCodeDescription(packs: Packs, tools = ''): string {
  const libraries = cutText(packs.flatMap(libraryLine).join('\n'), librariesCharsMax).text;
  return [DESCRIPTION, libraries, tools].filter((part) => part !== '').join('\n');
}

export function addRunCode(
  server: McpServer,
  client: ServiceClient,
  { packs, offered }: { readonly packs: Packs; readonly offered?: CallableTools | undefined },
): void {
  const { tools = {}, description } = offered ?? {};
  const mayReachOut = Object.keys(tools).length > 0;
  addTool(server, 'run_code', {
    title: 'Run a program',
    description: runCodeDescription(packs, description),
    input: RunCode,
    output: JobAnswer,
    annotations: {
      readOnlyHint: false,
      destructiveHint: mayReachOut,
      idempotentHint: false,
      openWorldHint: mayReachOut,
    },
    run: (asked, context) => runCode(client, asked, { ...context, ...(mayReachOut && { tools }) }),
  });
}

/** Cancelling the call cancels its job. Members that the call omits are omitted from the submission. */
async function runCode(
  client: ServiceClient,
  asked: RunCode,
  { mcpReq, tools }: Pick<ServerContext, 'mcpReq'> & { readonly tools?: RunTools },
): Promise<CallToolResult> {
  const { signal, notify } = mcpReq;
  const { timeout_seconds: _, memory_mb: __, minimum_isolation, session: name, promise: isPromised, ...said } = asked;
  const limits = limitsOf(asked);
  const progressToken = mcpReq._meta?.progressToken;
  const onEvent = progressToken === undefined ? undefined : tellProgress({ progressToken, notify });
  const promise = isPromised ? ('required' as const) : undefined;
  const options = { limits, minimumIsolation: minimum_isolation, promise, signal, onEvent, tools };
  const program = withFiles(said);
  if (name === undefined) {
    return await jobAnswer(client, jobOfRun(await client.run(program, options)), { signal, asked: limits });
  }
  const session = await client.session(name, { signal });
  const step = await session.run(program, options);
  return await jobAnswer(client, jobOfRun(step), { signal, asked: limits, step: { session, outcome: step } });
}

function limitsOf({ timeout_seconds, memory_mb }: RunCode) {
  return {
    ...(timeout_seconds !== undefined && { wall_seconds: timeout_seconds }),
    ...(memory_mb !== undefined && { mem_mb: memory_mb }),
  };
}

interface Listener {
  readonly progressToken: string | number;
  readonly notify: ServerContext['mcpReq']['notify'];
}

/** Reports each piece of output as it comes. The event's number in the history is the progress. */
function tellProgress({ progressToken, notify }: Listener): (event: JobEvent) => Promise<void> {
  return async (event) => {
    const message = messageOf(event);
    if (message === null) return;
    await notify({ method: 'notifications/progress', params: { progressToken, progress: event.seq, message } });
  };
}

const messageCharsMax = 2048;

/** The message about an event; null for an event that does not matter to a waiting caller. */
function messageOf({ kind, data }: JobEvent): string | null {
  if (kind === 'started') return 'started';
  if (kind !== 'stdout' && kind !== 'stderr') return null;
  return `${kind}: ${printableText(cutText((data as EventData<'stdout'>).text, messageCharsMax).text)}`;
}
