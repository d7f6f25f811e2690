/**
 * What is typed in the playground. It is kept in memory until the person signs out: another view, another key or a
 * service that is gone do not lose it. It is in no storage: programs, variables and input can hold secrets. The browser
 * asks before a reload loses it.
 */
import type { InputFile, IsolationClass, JobSubmission, OutputFile, Tool, UploadedFile } from '@vouchbox/client';
import { LIMIT_NAMES, type LimitName } from '@vouchbox/protocol/vocabulary';
import { kept } from '../kept.ts';
import { sampleOf } from './samples.ts';
import { typedJson } from './typed-json.ts';

type NamedStdin = Exclude<JobSubmission['stdin'], string | null | undefined>;

export interface Draft {
  readonly language: string;
  readonly code: string;
  readonly stdin: string;
  /** Bytes that are stdin as long as no text is typed. */
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
  /** What another submission said of its tools, as long as there are some. */
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

const NO_LIMITS: Draft['limits'] = {
  wall_seconds: null,
  cpu_seconds: null,
  mem_mb: null,
  max_pids: null,
  max_file_mb: null,
};

const EMPTY: Draft = {
  language: 'python',
  code: sampleOf('python'),
  stdin: '',
  namedStdin: null,
  args: '',
  env: '',
  outputs: 'output/**',
  large: '',
  stdout: '',
  files: [],
  runtime: null,
  minimum_isolation: null,
  enforced: [],
  reproducible: false,
  limits: NO_LIMITS,
  tools: [],
  toolTerms: {},
};

const draft = kept(EMPTY);
export const useDraft = draft.use;
/** The job that was made of the draft last. */
export const ran = kept<string | null>(null);

export function editDraft(edit: Partial<Draft>): void {
  draft.set({ ...draft.get(), ...edit });
}

/** Forgets what was typed and run, when somebody signs out. */
export function forgetDraft(): void {
  ran.set(null);
  draft.set(EMPTY);
}

/** Another language brings its sample, unless something other than a sample was typed. */
export function chooseLanguage(language: string): void {
  const before = draft.get();
  const isSample = before.code === '' || before.code === sampleOf(before.language);
  editDraft({ language, ...(isSample && { code: sampleOf(language) }), runtime: null });
}

/** Puts a submission in place of the draft. */
export function openDraft(submission: JobSubmission): void {
  const {
    language,
    code,
    stdin,
    args = [],
    env = {},
    outputs = [],
    large_outputs: large,
    files = [],
    runtime,
    requirements,
    reproducible = false,
    limits,
    tools = [],
    tool_limits,
    tool_principals,
  } = submission;
  const given = LIMIT_NAMES.map((name) => [name, limits?.[name] ?? null] as const);
  draft.set({
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
    files,
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
  });
}

/** The body that the contract takes. What was not filled in is left out. */
export function submissionOf({
  language,
  code,
  stdin: text,
  namedStdin,
  files,
  runtime,
  minimum_isolation,
  enforced,
  reproducible,
  tools,
  toolTerms,
  ...typed
}: Draft): JobSubmission {
  const stdin = text === '' ? namedStdin : text;
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
    ...(files.length > 0 && { files: [...files] }),
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

/** A text that cannot be sent as JSON is sent as text, and refused with its place. */
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

/** Whether something would be lost by a reload. */
function hasTyped(): boolean {
  const { code, language } = draft.get();
  return draft.get() !== EMPTY && code !== sampleOf(language);
}

window.addEventListener('beforeunload', (event) => {
  if (hasTyped()) event.preventDefault();
});
