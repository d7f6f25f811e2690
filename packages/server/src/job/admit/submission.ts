/**
 * Turns the parsed JSON body of POST /v1/jobs into a complete specification, or refuses it with the JSON pointer of the
 * faulty member. Only this module handles unchecked submissions; what it returns fits the contract. Ceilings are
 * policy and are applied later. Spec § Job submission, § Limits.
 */
import {
  BUILD_LIMIT_DEFAULTS,
  type Build,
  codeBytesMax,
  directoryOfPattern,
  FRACTIONAL_LIMITS,
  fileBytesMax,
  filesMax,
  filesTotalBytesMax,
  type Interactor,
  isBuildOption,
  isCompiled,
  JobSubmission,
  LANGUAGES,
  type Language,
  type LargeOutputs,
  LIMIT_DEFAULTS,
  LIMIT_NAMES,
  type LimitName,
  type LimitsInput,
  largeOutputsBytesMax,
  type Misfit,
  misfitOf,
  type NamedStdin,
  outputsProblem,
  PRODUCT_FILES,
  type Product,
  pathProblem,
  pathsProblem,
  productBytesMax,
  type RequestedLimits,
  type RequestedSpec,
  type Requirements,
  type StoredLargeOutputs,
  type StoredRequirements,
  type SubmittedFile,
  stdinBytesMax,
  variableProblem,
  wordBytesMax,
  wordsTotalBytesMax,
} from '@vouchbox/protocol';
import { withLibraries } from './libraries.ts';
import { quoted, refusal } from './refuse.ts';
import { asStep, checkIsAlone, checkOwnPlaces } from './session-step.ts';
import { checkedTools } from './tools.ts';

/** A submitted specification. Its files, standard input and product may refer to outputs, which are not looked up yet. */
export interface ParsedProgram extends Omit<RequestedSpec, 'files' | 'named_stdin' | 'product'> {
  readonly files: readonly SubmittedFile[];
  readonly named_stdin?: NamedStdin;
  readonly product?: Product;
}

/** A submission. If it has tools, their `answered_by` still lacks the principal who submits. */
export interface ParsedSubmission extends ParsedProgram {
  readonly interactor?: ParsedProgram;
}

/**
 * The specification in a body. Omitted members get their defaults. Limits keep the requested values: those that are
 * counted in whole units are rounded, and none is clamped yet.
 *
 * @throws ServiceError `invalid_request`, `unsupported_language`, `network_not_allowed` or `payload_too_large`.
 */
export function parseSubmission(body: unknown): ParsedSubmission {
  const {
    interactor,
    build,
    promise = false,
    session,
    libraries,
    labels,
    sign_labels: isSigned = false,
    stdin = null,
    ...submission
  } = fitting(body);
  const tools = checkedTools(submission);
  if (tools !== null && (build !== undefined || interactor !== undefined))
    throw refusal('invalid_request', '/tools', `must be left out: ${build ? 'a build' : 'a pair'} calls no tools`);
  if (stdin !== null && interactor !== undefined)
    throw refusal('invalid_request', '/stdin', 'must be left out: the interactor writes it');
  const asked = { ...(promise && { promise }), ...checkedLabels(labels, isSigned) };
  if (session !== undefined) checkIsAlone({ interactor, build }, 'a step of a session');
  if (libraries !== undefined) checkIsAlone({ interactor, build }, 'a job with libraries');
  if (build !== undefined) return { ...buildOf(build, { ...submission, stdin, interactor }), ...asked };
  const parsed = parsedProgram(submission, '');
  const program = {
    ...(libraries === undefined ? parsed : withLibraries(parsed, libraries)),
    ...checkedStdin(stdin),
    ...asked,
    ...(tools !== null && { tools }),
  };
  if (session !== undefined) return asStep(program, session);
  if (interactor === undefined) return program;
  const pair = { ...program, interactor: parsedProgram(interactor, INTERACTOR) };
  for (const [at, { large_outputs }] of [['', pair] as const, [INTERACTOR, pair.interactor] as const]) {
    const isTold = (large_outputs?.stdout ?? null) !== null;
    if (isTold)
      throw refusal('invalid_request', `${at}/large_outputs/stdout`, 'must be left out: the other program reads it');
  }
  return pair;
}

/** Members of a run that a build must not have. */
const OF_A_RUN = ['stdin', 'args', 'env', 'outputs', 'large_outputs', 'product', 'interactor'] as const;

/** The specification of a build. It has the limits for compilers, and the product as its only output. */
function buildOf(
  { options = [] }: Build,
  submission: Partial<Record<(typeof OF_A_RUN)[number], unknown>> & Interactor,
): ParsedSubmission {
  const odd = OF_A_RUN.find((name) => (submission[name] ?? null) !== null);
  if (odd !== undefined) throw refusal('invalid_request', `/${odd}`, 'must be left out: a build runs no program');
  const { language, limits = {} } = submission;
  const program = parsedProgram({ ...submission, limits: { ...BUILD_LIMIT_DEFAULTS, ...limits } }, '');
  if (!isCompiled({ language }))
    throw refusal('invalid_request', '/build', `must be left out: ${language} is not compiled`);
  const index = options.findIndex((option) => !isBuildOption(program.language, option));
  if (index >= 0) {
    const problem = `${quoted(options[index] ?? '')} is not in the list of options for ${language}`;
    throw refusal('invalid_request', `/build/options/${index}`, problem);
  }
  const large_outputs = { paths: [PRODUCT_FILES.output], stdout: null, max_bytes: productBytesMax };
  return { ...program, large_outputs, build: { options } };
}

/** The pointer of the member that holds a pair's other program. */
export const INTERACTOR = '/interactor';

/** `at` is the pointer of the program. */
function parsedProgram(submission: Interactor, at: string): ParsedProgram {
  const language = knownLanguage(submission.language, at);
  if (submission.limits?.allow_network === true) {
    throw refusal('network_not_allowed', `${at}/limits/allow_network`, 'must not be true: egress is never granted');
  }
  checkText(`${at}/code`, submission.code, codeBytesMax);
  if (typeof submission.runtime === 'string') checkText(`${at}/runtime`, submission.runtime, Number.POSITIVE_INFINITY);
  return {
    language,
    code: submission.code,
    stdin: null,
    args: checkedArguments(submission.args ?? [], at),
    env: checkedVariables(submission.env ?? {}, at),
    files: checkedFiles(withProduct(submission, at), at),
    outputs: checkedOutputs(submission.outputs ?? [], at),
    ...(submission.large_outputs !== undefined && {
      large_outputs: checkedLargeOutputs(submission.large_outputs, submission.outputs ?? [], at),
    }),
    ...(submission.product !== undefined && { product: submission.product }),
    runtime: submission.runtime ?? null,
    requirements: checkedRequirements(submission.requirements),
    limits: completeLimits(submission.limits ?? {}),
    ...(submission.reproducible === true && { reproducible: true as const }),
  };
}

/** The labels. Each is a text that a person can read on one line, and a label that is given twice is kept once. */
function checkedLabels(
  labels: readonly string[] = [],
  isSigned: boolean,
): Pick<ParsedProgram, 'labels' | 'sign_labels'> {
  const bad = labels.findIndex((label) => !isPrintable(label));
  if (bad >= 0) throw refusal('invalid_request', `/labels/${bad}`, 'must be text without control characters');
  if (labels.length === 0 && isSigned)
    throw refusal('invalid_request', '/sign_labels', 'must be left out: there are no labels');
  return labels.length === 0 ? {} : { labels: [...new Set(labels)], ...(isSigned && { sign_labels: true }) };
}

/** Whether text has only letters, marks, numbers, punctuation, symbols and spaces, so that all of it is visible and inert. */
function isPrintable(text: string): boolean {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u.test(text);
}

/** The demands, with each limit named once and in the standard order, so that equal demands have equal texts. */
function checkedRequirements({ minimum_isolation = 'none', enforced = [] }: Requirements = {}): StoredRequirements {
  const held = LIMIT_NAMES.filter((name) => enforced.includes(name));
  return { minimum_isolation, ...(held.length > 0 && { enforced: held }) };
}

function checkedStdin(stdin: string | NamedStdin | null): Pick<ParsedProgram, 'stdin' | 'named_stdin'> {
  if (typeof stdin === 'string') checkText('/stdin', stdin, stdinBytesMax);
  if (stdin === null || typeof stdin === 'string') return { stdin };
  checkOutputName('/stdin', stdin);
  return { stdin: null, named_stdin: stdin };
}

function checkOutputName(pointer: string, named: SubmittedFile | NamedStdin): void {
  const problem = 'from' in named ? pathProblem(named.from.path, 'output') : null;
  if (problem !== null) throw refusal('invalid_request', `${pointer}/from/path`, problem);
}

/** Adds the product to a job's files, so that it is looked up, kept and reported like any other file. */
function withProduct({ language, product, files = [] }: Interactor, at: string): readonly SubmittedFile[] {
  if (product === undefined) return files;
  if (!isCompiled({ language })) {
    throw refusal('invalid_request', `${at}/product`, `must be left out: ${language} is not compiled`);
  }
  checkProductPlace(files, at);
  return [...files, { path: PRODUCT_FILES.input, from: { job_id: product.job_id, path: PRODUCT_FILES.output } }];
}

/** Refuses a file that could be mistaken for its program's product. `at` is the pointer of the program that has these files. */
export function checkProductPlace(files: readonly SubmittedFile[], at: string): void {
  const { input } = PRODUCT_FILES;
  const index = files.findIndex(({ path }) => path === input || path.startsWith(`${input}/`));
  if (index >= 0) throw refusal('invalid_request', `${at}/files/${index}/path`, `is kept for the product: ${input}`);
}

function knownLanguage(name: string, at: string): Language {
  const language = LANGUAGES.find((known) => known === name);
  if (language !== undefined) return language;
  throw refusal('unsupported_language', `${at}/language`, `${quoted(name)} is not one of ${LANGUAGES.join(', ')}`);
}

/** Bounds the decoded text's length in bytes of UTF-8, which is also the size of a file with this text. */
function checkText(pointer: string, text: string, bytesMax: number): void {
  if (!text.isWellFormed())
    throw refusal('invalid_request', pointer, 'holds a lone surrogate, which has no UTF-8 form');
  checkSize(pointer, Buffer.byteLength(text), bytesMax);
}

function checkSize(pointer: string, bytes: number, bytesMax: number): void {
  if (bytes <= bytesMax) return;
  throw refusal('payload_too_large', pointer, `is ${bytes} bytes after decoding; at most ${bytesMax} are allowed`);
}

function checkedArguments(args: readonly string[], at: string): string[] {
  checkWords(`${at}/args`, new Map(args.map((word, index) => [`${at}/args/${index}`, word])));
  return [...args];
}

function checkedVariables(env: Readonly<Record<string, string>>, at: string): Record<string, string> {
  for (const name of Object.keys(env)) {
    const problem = variableProblem(name);
    if (problem !== null) throw refusal('invalid_request', `${at}/env/${name}`, problem);
  }
  checkWords(`${at}/env`, new Map(Object.entries(env).map(([name, value]) => [`${at}/env/${name}`, value])));
  return { ...env };
}

/** Checks words that the kernel passes to a program as C strings. execve(2). */
function checkWords(pointer: string, words: ReadonlyMap<string, string>): void {
  let total = 0;
  for (const [at, word] of words) {
    if (word.includes('\0')) throw refusal('invalid_request', at, 'contains a NUL, which would end the word');
    checkText(at, word, wordBytesMax);
    total += Buffer.byteLength(word);
  }
  checkSize(pointer, total, wordsTotalBytesMax);
}

function checkedFiles(files: readonly SubmittedFile[], at: string): readonly SubmittedFile[] {
  const wrong = pathsProblem(
    files.map((file) => file.path),
    'input',
  );
  if (wrong !== null) throw refusal('invalid_request', `${at}/files/${wrong.index}/path`, wrong.problem);
  checkOwnPlaces(files, at);
  let total = 0;
  for (const [index, file] of files.entries()) {
    checkOutputName(`${at}/files/${index}`, file);
    if (!('content_base64' in file)) continue;
    const pointer = `${at}/files/${index}/content_base64`;
    const bytes = decodedBytes(pointer, file.content_base64);
    checkSize(pointer, bytes, fileBytesMax);
    total += bytes;
  }
  checkSize(`${at}/files`, total, filesTotalBytesMax);
  return files;
}

function checkedOutputs(outputs: readonly string[], at: string): string[] {
  const wrong = outputsProblem(outputs);
  if (wrong !== null) throw refusal('invalid_request', `${at}/outputs/${wrong.index}`, wrong.problem);
  return [...outputs];
}

/** The large outputs. A file must not be named both here and in `outputs`, because its path would then have two outputs. */
function checkedLargeOutputs(
  { paths = [], max_bytes = largeOutputsBytesMax, ...asked }: LargeOutputs,
  outputs: readonly string[],
  program: string,
): StoredLargeOutputs {
  const at = `${program}/large_outputs`;
  const stdout = asked.stdout ?? null;
  const all = stdout === null ? paths : [...paths, stdout];
  if (all.length === 0) throw refusal('invalid_request', at, 'names neither a file nor standard output');
  if (all.length > filesMax) throw refusal('invalid_request', at, `names more than ${filesMax} outputs`);
  const files = outputs.filter((output) => directoryOfPattern(output) === null);
  const pattern = all.find((path) => directoryOfPattern(path) !== null);
  if (pattern !== undefined)
    throw refusal('invalid_request', at, `names ${quoted(pattern)}, but only outputs can be patterns`);
  const wrong = pathsProblem([...files, ...all], 'output');
  if (wrong === null) return { paths: [...paths], stdout, max_bytes };
  const index = wrong.index - files.length;
  const member = index < paths.length ? `paths/${index}` : 'stdout';
  throw refusal('invalid_request', `${at}/${member}`, wrong.problem);
}

/** How many bytes a base64 text decodes to. Only canonical base64 is accepted: RFC 4648 § 3.5, § 4. */
function decodedBytes(pointer: string, text: string): number {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') === text) return bytes.length;
  throw refusal('invalid_request', pointer, 'is not canonical base64 (RFC 4648, standard alphabet, padded)');
}

function completeLimits(limits: LimitsInput): RequestedLimits {
  const complete = { ...LIMIT_DEFAULTS };
  for (const name of LIMIT_NAMES) complete[name] = countedIn(name, limits[name] ?? complete[name]);
  return complete;
}

/** Memory, processes and file sizes are counted in whole units: fractions are rounded down, but never below one. */
function countedIn(name: LimitName, value: number): number {
  return FRACTIONAL_LIMITS.has(name) ? value : Math.max(1, Math.floor(value));
}

/** Returns a body that fits the contract's schema. Throws the refusal of the first member that does not. */
function fitting(body: unknown): JobSubmission {
  const misfit = misfitOf(JobSubmission, body);
  if (misfit !== null) throw refusal('invalid_request', misfit.pointer, problemOf(misfit));
  return body as JobSubmission;
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a finite number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
};

const PROBLEMS: { readonly [keyword in Misfit['keyword']]?: (allowed: unknown) => string } = {
  unknown: () => 'is not a known member',
  required: () => 'is required',
  type: (allowed) => `must be ${TYPE_NAMES[String(allowed)] ?? 'of another type'}`,
  exclusiveMinimum: (allowed) => `must be greater than ${String(allowed)}`,
  minimum: (allowed) => `must be at least ${String(allowed)}`,
  maximum: (allowed) => `must be at most ${String(allowed)}`,
  minLength: () => 'must not be empty',
  minItems: () => 'must not be empty',
  maxLength: (allowed) => `must have at most ${String(allowed)} characters`,
  maxItems: (allowed) => `must have at most ${String(allowed)} items`,
  maxProperties: (allowed) => `must have at most ${String(allowed)} members`,
  pattern: (allowed) => `must match ${String(allowed)}`,
  enum: (allowed) => `must be one of ${(allowed as string[]).join(', ')}`,
};

export function problemOf({ keyword, allowed, unknown }: Misfit): string {
  const problem = PROBLEMS[keyword]?.(allowed) ?? 'does not fit the contract';
  return unknown === undefined ? problem : `${problem}, and ${quoted(unknown)} is not a known member`;
}
