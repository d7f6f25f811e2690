/**
 * Explains a refused submission in the words of the command line. The service points at a member of the body with a JSON
 * pointer, but a person who typed flags is shown the flag.
 */
import { type ServiceClient, ServiceFailure } from '@vouchbox/client';
import { LANGUAGES, type Language } from '@vouchbox/protocol/vocabulary';
import { CommandFailure } from '../failures/command-failure.ts';
import { UsageError } from '../failures/usage-error.ts';
import type { SubmissionOptions } from './submission-options.ts';

/** What the user typed. */
export interface Typed {
  readonly file: string;
  readonly options: SubmissionOptions;
}

/** The error to report for a refusal: a usage error if a typed value is wrong, or `error` itself if no flag is concerned. */
export async function refusalInFlags(error: unknown, typed: Typed, client: ServiceClient): Promise<unknown> {
  if (!(error instanceof ServiceFailure)) return error;
  const line = lineInFlags(error.message, typed);
  if (line === null) return error;
  const told = `${line} (${error.code}, request ${error.requestId ?? 'unknown'})`;
  if (error.code === 'invalid_request' || error.code === 'payload_too_large') {
    return new UsageError(told, { cause: error });
  }
  const [, lacking] = /^\/language (\w+) is not available/.exec(error.message) ?? [];
  if (lacking !== undefined) return new CommandFailure(`${told}${packAdvice(lacking)}`, { cause: error });
  if (error.code !== 'unsupported_language') return new CommandFailure(told, { cause: error });
  return new UsageError(`${told}; ${await languageAdvice(typed, client)}`, { cause: error });
}

/** The message, with the flag in place of the pointer at its start; null if there is no pointer. */
function lineInFlags(message: string, typed: Typed): string | null {
  const [, member = '', second = '', rest = ''] = /^\/(\w+)(?:\/([^/\s]+))?\S* (.*)$/s.exec(message) ?? [];
  const flag = FLAGS[member]?.(second, typed);
  return flag === undefined ? null : `${flag} ${rest}`;
}

/** The flag for each member of a submission. `second` is the part of the JSON pointer after the member. */
const FLAGS: Readonly<Record<string, (second: string, typed: Typed) => string>> = {
  code: (_second, { file }) => (file === '-' ? 'the program' : file),
  language: () => '--language',
  stdin: () => '--stdin',
  args: (second) => (second === '' ? 'the list of arguments' : `argument ${Number(second) + 1}`),
  env: (second) => `--env ${second}`.trimEnd(),
  files: (second, { options }) => `--file ${options.file[Number(second || 'NaN')] ?? ''}`.trimEnd(),
  outputs: (second, { options }) => `--output ${options.output[Number(second || 'NaN')] ?? ''}`.trimEnd(),
  runtime: () => '--runtime',
  limits: (second) => `--limit ${second}`.trimEnd(),
  labels: (second, { options }) => `--label ${options.label?.[Number(second || 'NaN')] ?? ''}`.trimEnd(),
  sign_labels: () => '--sign-labels',
  session: () => '--session',
  libraries: () => '--libraries',
  tools: () => '--tool',
  interactor: () => '--interactor',
  requirements: (second) => (second === 'enforced' ? '--enforced' : '--minimum-isolation'),
};

/** Other names for each language that people type. */
const MEANT: Readonly<Record<Language, readonly string[]>> = {
  python: ['py', 'python3'],
  node: ['javascript', 'js', 'nodejs'],
  typescript: ['ts'],
  bash: ['sh', 'shell'],
  ruby: ['rb'],
  php: [],
  lua: [],
  r: [],
  java: [],
  c: [],
  cpp: ['c++'],
};

/** Names a language's pack; empty for the four languages of a host. A pack is named after its language, but C++ is in `c`. */
function packAdvice(language: string): string {
  if (['python', 'node', 'typescript', 'bash'].includes(language)) return '';
  const build = `\`vouchbox packs build ${language === 'cpp' ? 'c' : language}\``;
  return `; ${build}, as root on the host of the service, makes it available`;
}

async function languageAdvice({ options }: Typed, client: ServiceClient): Promise<string> {
  const typed = options.language?.toLowerCase() ?? '';
  const meant = LANGUAGES.find((language) => MEANT[language].includes(typed));
  const advice = meant === undefined ? '' : `; try --language ${meant}`;
  const { languages } = await client.capabilities();
  return `this service has ${languages.join(', ')}${advice}`;
}
