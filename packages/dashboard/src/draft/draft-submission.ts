/** A draft of the playground, and its submission. */
import type { InputFile, IsolationClass, JobSubmission, OutputFile, Tool, UploadedFile } from '@vouchbox/client';
import { LIBRARIES_FILE, LIMIT_NAMES, type LimitName } from '@vouchbox/protocol/vocabulary';
import { typedJson } from './typed-json.ts';

type NamedStdin = Exclude<JobSubmission['stdin'], string | null | undefined>;

export interface Draft {
  readonly language: string;
  readonly code: string;
  readonly stdin: string;
  /** The bytes that stdin has while no text is typed. */
  readonly namedStdin: NamedStdin | null;
  /** One argument a line. */
  readonly args: string;
  /** One `NAME=VALUE` a line. */
  readonly env: string;
  /** One path or pattern a line. */
  readonly outputs: string;
  /** One path a line. */
  readonly large: string;
  /** The path by which all of stdout comes back. */
  readonly stdout: string;
  /** Input files, and libraries as the service stores them. */
  readonly files: readonly (InputFile | UploadedFile | OutputFile)[];
  /** Null: the default of the service. */
  readonly runtime: string | null;
  readonly minimum_isolation: IsolationClass | null;
  /** Limits that the host must hold, as another submission named them. */
  readonly enforced: readonly LimitName[];
  /** Whether hash seeds are fixed. */
  readonly reproducible: boolean;
  /** Null: the default. */
  readonly limits: Readonly<Record<LimitName, number | null>>;
  readonly tools: readonly DraftTool[];
  /** Members about tools of another submission; they are sent if the draft has tools. */
  readonly toolTerms: Pick<JobSubmission, 'tool_limits' | 'tool_principals'>;
}

/** A tool as it is typed. */
export interface DraftTool {
  readonly name: string;
  readonly description: string;
  /** JSON, or empty for none. */
  readonly arguments: string;
  readonly result: string;
}

/** The draft of a submission that was made elsewhere. */
export function draftOf(submission: JobSubmission): Draft {
  const {
    language,
    code,
    stdin,
    args = [],
    env = {},
    outputs = [],
    large_outputs: large,
    files = [],
    libraries,
    runtime,
    requirements,
    reproducible = false,
    limits,
    tools = [],
    tool_limits,
    tool_principals,
  } = submission;
  const given = LIMIT_NAMES.map((name) => [name, limits?.[name] ?? null] as const);
  return {
    language,
    code,
    stdin: typeof stdin === 'string' ? stdin : '',
    namedStdin: typeof stdin === 'string' ? null : (stdin ?? null),
    args: args.join('\n'),
    env: Object.entries(env)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
    outputs: outputs.join('\n'),
    large: large?.paths?.join('\n') ?? '',
    stdout: large?.stdout ?? '',
    files: [...files, ...(libraries === undefined ? [] : [{ path: LIBRARIES_FILE, ...libraries }])],
    runtime: runtime ?? null,
    minimum_isolation: requirements?.minimum_isolation ?? null,
    enforced: requirements?.enforced ?? [],
    reproducible,
    limits: Object.fromEntries(given) as Draft['limits'],
    tools: tools.map((tool) => ({
      name: tool.name,
      description: tool.description ?? '',
      arguments: schemaText(tool.arguments),
      result: schemaText(tool.result),
    })),
    toolTerms: { ...(tool_limits && { tool_limits }), ...(tool_principals && { tool_principals }) },
  };
}

/** The body that the contract takes. Empty fields are left out. */
export function submissionOf({
  language,
  code,
  stdin: text,
  namedStdin,
  files: given,
  runtime,
  minimum_isolation,
  enforced,
  reproducible,
  tools,
  toolTerms,
  ...typed
}: Draft): JobSubmission {
  const stdin = text === '' ? namedStdin : text;
  const files = given.filter(({ path }) => path !== LIBRARIES_FILE);
  const libraries = given.find(({ path }) => path === LIBRARIES_FILE);
  const args = linesOf(typed.args);
  const outputs = linesOf(typed.outputs);
  const paths = linesOf(typed.large);
  const large = { ...(paths.length > 0 && { paths }), ...(typed.stdout !== '' && { stdout: typed.stdout }) };
  const env = Object.fromEntries(linesOf(typed.env).map(variableOf));
  const requirements = {
    ...(minimum_isolation !== null && { minimum_isolation }),
    ...(enforced.length > 0 && { enforced: [...enforced] }),
  };
  const limits = Object.fromEntries(Object.entries(typed.limits).filter(([, value]) => value !== null));
  return {
    language,
    code,
    ...(stdin !== null && { stdin }),
    ...(args.length > 0 && { args }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(files.length > 0 && { files }),
    ...(libraries !== undefined && 'blob' in libraries && { libraries: { blob: libraries.blob ?? '' } }),
    ...(outputs.length > 0 && { outputs }),
    ...(Object.keys(large).length > 0 && { large_outputs: large }),
    ...(runtime !== null && { runtime }),
    ...(Object.keys(requirements).length > 0 && { requirements }),
    ...(reproducible && { reproducible }),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(tools.length > 0 && { tools: tools.map(toolOf), ...toolTerms }),
  };
}

function toolOf({ name, description, ...schemas }: DraftTool): Tool {
  const given = Object.entries(schemas).filter(([, text]) => text.trim() !== '');
  const read = Object.fromEntries(given.map(([member, text]) => [member, schemaIn(text)]));
  return { name, ...(description !== '' && { description }), ...read };
}

/** A text that cannot be sent as JSON is sent as text, and the service refuses it with its place. */
function schemaIn(text: string): unknown {
  const typed = typedJson(text);
  return 'value' in typed ? typed.value : text;
}

function schemaText(schema: Tool['arguments']): string {
  return schema === undefined ? '' : JSON.stringify(schema, null, 2);
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

function variableOf(line: string): [name: string, value: string] {
  const end = line.indexOf('=');
  return end < 0 ? [line, ''] : [line.slice(0, end), line.slice(end + 1)];
}
