/** Reads a submission in Judge0's form as a `Program`. */
import { isBuildOption, isCompiled, type Language } from '@vouchbox/protocol/vocabulary';
import { unsupported } from '../adapter-error.ts';
import type { OfferedLanguage } from '../languages.ts';
import type { Program } from '../program.ts';
import { type Body, optionalNumber, optionalText } from '../request-body.ts';
import { languageOfNumber, usualNumber } from './languages.ts';
import { outputDigest } from './token.ts';

export interface Judge0Submission {
  readonly program: Program;
  /** The caller's number for the language; null if it is the usual number, the one in the list. */
  readonly languageNumber: number | null;
  readonly expectedDigest: string | null;
}

/** Whether the texts in requests and answers are plain or in base64. */
export type TextForm = 'plain' | 'base64';

const BLANK = "can't be blank";

/** Members without a counterpart here. The listed values request nothing and are accepted; any other value is refused. */
const UNSUPPORTED: Readonly<Record<string, readonly unknown[]>> = {
  additional_files: [''],
  callback_url: [''],
  enable_network: [false],
  number_of_runs: [1, '1'],
  redirect_stderr_to_stdout: [false],
};

export interface Offer {
  readonly offered: readonly OfferedLanguage[];
  /** Whether the service compiles a program in a separate job. Only such a job takes compiler options. */
  readonly hasBuilds: boolean;
}

/** @throws AdapterError with the name of the wrong member */
export function submissionOf(body: Body, form: TextForm, { offered, hasBuilds }: Offer): Judge0Submission {
  refuseUnsupported(body);
  const number = optionalNumber(body, 'language_id');
  if (number === undefined) throw unsupported('language_id', BLANK);
  const language = languageOfNumber(number, offered);
  if (language === undefined) throw unsupported('language_id', `language with id ${number} doesn't exist`);
  const code = optionalDecoded(body, 'source_code', form) ?? '';
  if (code.trim() === '') throw unsupported('source_code', BLANK);
  const expected = optionalText(body, 'expected_output');
  return {
    languageNumber: number === usualNumber(language.language) ? null : number,
    expectedDigest: expected === undefined ? null : outputDigest(decoded(expected, form)),
    program: {
      language: language.language,
      code,
      name: 'main',
      stdin: optionalDecoded(body, 'stdin', form),
      args: wordsOf(optionalText(body, 'command_line_arguments') ?? ''),
      besides: [],
      wanted: [],
      limits: limitsOf(body),
      compiler: { options: compilerOptions(body, language.language, hasBuilds), limits: {} },
    },
  };
}

function refuseUnsupported(body: Body): void {
  for (const [member, harmless] of Object.entries(UNSUPPORTED)) {
    const value = body[member];
    if (value === undefined || value === null || harmless.includes(value)) continue;
    throw unsupported(member, 'is not supported here');
  }
}

const OPTIONS = 'compiler_options';
/** The most characters of compiler options: the same bound as Judge0's. */
const optionsCharsMax = 512;

/** The compiler's options. The service decides which options are allowed; any other option gets the error that Judge0 gives. */
function compilerOptions(body: Body, language: Language, hasBuilds: boolean): readonly string[] {
  const text = optionalText(body, OPTIONS) ?? '';
  const options = wordsOf(text);
  if (options.length === 0) return [];
  if (text.length > optionsCharsMax)
    throw unsupported(OPTIONS, `is too long (maximum is ${optionsCharsMax} characters)`);
  if (!hasBuilds) throw unsupported(OPTIONS, 'setting compiler options is not allowed');
  if (!isCompiled({ language })) {
    throw unsupported(OPTIONS, 'setting compiler options is only allowed for compiled languages');
  }
  const refused = options.filter((option) => !isBuildOption(language, option));
  if (refused.length > 0) throw unsupported(OPTIONS, `setting ${refused.join(' ')} is not allowed`);
  return options;
}

/** The limits in our units: Judge0 counts seconds and kilobytes. Values above the service's ceilings are clamped to them. */
function limitsOf(body: Body): Program['limits'] {
  const [cpu, wall] = [optionalNumber(body, 'cpu_time_limit'), optionalNumber(body, 'wall_time_limit')];
  const [memory, file] = [optionalNumber(body, 'memory_limit'), optionalNumber(body, 'max_file_size')];
  const processes = optionalNumber(body, 'max_processes_and_or_threads');
  return {
    ...(cpu !== undefined && { cpu_seconds: cpu }),
    ...(wall !== undefined && { wall_seconds: wall }),
    ...(memory !== undefined && { mem_mb: memory / 1024 }),
    ...(file !== undefined && { max_file_mb: file / 1024 }),
    ...(processes !== undefined && { max_pids: processes }),
  };
}

function optionalDecoded(body: Body, member: string, form: TextForm): string | undefined {
  const text = optionalText(body, member);
  return text === undefined ? undefined : decoded(text, form);
}

function decoded(text: string, form: TextForm): string {
  return form === 'plain' ? text : Buffer.from(text, 'base64').toString();
}

/** Splits a line into words as a shell does, but understands only quotes and no other shell syntax. */
function wordsOf(line: string): string[] {
  const pieces = line.match(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g) ?? [];
  return pieces.map((piece) =>
    piece.replace(/"([^"]*)"|'([^']*)'/g, (_all, one?: string, other?: string) => one ?? other ?? ''),
  );
}
