/** A draft in the playground, and the submission made from it. */
import type { InputFile, IsolationClass, JobSubmission, OutputFile, Tool, UploadedFile } from '@vouchbox/client';
import { LIBRARIES_FILE, LIMIT_NAMES, type LimitName } from '@vouchbox/protocol/vocabulary';
import { typedJson } from './typed-json.ts';

type NamedStdin = Exclude<JobSubmission['stdin'], string | null | undefined>;

/** A submission as it is typed. A list has one item per line: its text, or a JSON string, which can hold any text. */
export interface Draft {
  readonly language: string;
  readonly code: string;
  readonly stdin: string;
  /** An uploaded file or a job's output, which becomes standard input if no text is typed. */
  readonly namedStdin: NamedStdin | '' | null;
  /** One argument per line. */
  readonly args: string;
  /** One `NAME=VALUE` per line. */
  readonly env: string;
  /** One path or pattern per line. */
  readonly outputs: string;
  /** One path per line. */
  readonly large: string;
  /** The bytes that all large outputs may have together; null for the default. */
  readonly large_bytes: number | null;
  /** The path under which the whole stdout comes back. */
  readonly stdout: string;
  /** Input files, including libraries in the form in which the service stores them. */
  readonly files: readonly (InputFile | UploadedFile | OutputFile)[];
  /** The runtime pack; null for the service's default. */
  readonly runtime: string | null;
  readonly minimum_isolation: IsolationClass | null;
  /** Limits that the host must enforce, taken from another submission. */
  readonly enforced: readonly LimitName[];
  /** Whether hash seeds are fixed. */
  readonly reproducible: boolean;
  /** The limits; null for a limit with its default. */
  readonly limits: Readonly<Record<LimitName, number | null>>;
  readonly tools: readonly DraftTool[];
  /** One label per line. */
  readonly labels: string;
  /** Members of another submission that have no field. They are sent unchanged, but those about tools only if there are tools. */
  readonly others: Partial<JobSubmission>;
}

/** A tool as it is typed. */
export interface DraftTool {
  readonly name: string;
  readonly description: string;
  /** The JSON Schemas of the arguments and of the result; empty if there is none. */
  readonly arguments: string;
  readonly result: string;
}

/** The draft of an existing submission. */
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
    labels = [],
    ...others
  } = submission;
  const given = LIMIT_NAMES.map((name) => [name, limits?.[name] ?? null] as const);
  return {
    language,
    code,
    stdin: typeof stdin === 'string' ? stdin : '',
    namedStdin: typeof stdin === 'string' && stdin !== '' ? null : (stdin ?? null),
    args: textOf(args),
    env: Object.entries(env)
      .map(([name, value]) => `${name}=${lineOf(value)}`)
      .join('\n'),
    outputs: textOf(outputs),
    large: textOf(large?.paths ?? []),
    large_bytes: large?.max_bytes ?? null,
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
    labels: textOf(labels),
    others,
  };
}

/** The body in the contract's form. Empty fields are left out. */
export function submissionOf({ language, code, tools, ...draft }: Draft): JobSubmission {
  const stdin = draft.stdin === '' ? draft.namedStdin : draft.stdin;
  const libraries = draft.files.find(({ path }) => path === LIBRARIES_FILE);
  const paths = wordsOf(draft.large);
  const { minimum_isolation, enforced, large_bytes: max_bytes } = draft;
  const { tool_limits: _limits, tool_principals: _principals, ...others } = draft.others;
  return {
    language,
    code,
    ...(stdin !== null && { stdin }),
    ...filled({
      args: wordsOf(draft.args),
      env: Object.fromEntries(linesOf(draft.env).map(variableOf)),
      files: draft.files.filter(({ path }) => path !== LIBRARIES_FILE),
      libraries: libraries !== undefined && 'blob' in libraries ? { blob: libraries.blob ?? '' } : null,
      outputs: wordsOf(draft.outputs),
      large_outputs:
        paths.length > 0 || draft.stdout !== '' ? filled({ paths, stdout: draft.stdout, max_bytes }) : null,
      runtime: draft.runtime,
      requirements: filled({ minimum_isolation, enforced: [...enforced] }),
      reproducible: draft.reproducible,
      limits: filled(draft.limits),
      labels: wordsOf(draft.labels),
      tools: tools.map(toolOf),
    }),
    ...(tools.length > 0 ? draft.others : others),
  };
}

type Filled<Members> = { [Name in keyof Members]?: NonNullable<Members[Name]> };

/** The members that are not empty. */
function filled<Members extends object>(members: Members): Filled<Members> {
  const isFilled = (value: unknown) =>
    typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
  return Object.fromEntries(Object.entries(members).filter(([, value]) => isFilled(value))) as Filled<Members>;
}

function toolOf({ name, description, ...schemas }: DraftTool): Tool {
  const given = Object.entries(schemas).filter(([, text]) => text.trim() !== '');
  const read = Object.fromEntries(given.map(([member, text]) => [member, schemaIn(text)]));
  return { name, ...(description !== '' && { description }), ...read };
}

/** The schema in a text. A text that is not JSON is sent as it is: the service then refuses it and says where it is wrong. */
function schemaIn(text: string): unknown {
  const typed = typedJson(text);
  return 'value' in typed ? typed.value : text;
}

function schemaText(schema: Tool['arguments']): string {
  return schema === undefined ? '' : JSON.stringify(schema, null, 2);
}

function textOf(words: readonly string[]): string {
  return words.map(lineOf).join('\n');
}

function lineOf(word: string): string {
  return /^$|^"|[\r\n]/.test(word) ? JSON.stringify(word) : word;
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

function wordsOf(text: string): string[] {
  return linesOf(text).map(wordOf);
}

/** The word in a line. A double quote that does not begin a JSON string is an ordinary character. */
function wordOf(line: string): string {
  const typed = line.startsWith('"') ? typedJson(line) : {};
  return 'value' in typed && typeof typed.value === 'string' ? typed.value : line;
}

function variableOf(line: string): [name: string, value: string] {
  const end = line.indexOf('=');
  return end < 0 ? [line, ''] : [line.slice(0, end), wordOf(line.slice(end + 1))];
}
