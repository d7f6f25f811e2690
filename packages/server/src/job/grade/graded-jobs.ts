/**
 * A grading's jobs: the input of each job, and its end. A program's expected output is an input that only the service can name.
 */
import { sha256Hex } from '@vouchbox/evidence';
import type { FoldedResult, GradingText, ProgramVerdict, RequestedSpec, StoredFile } from '@vouchbox/protocol';
import {
  type CheckerRun,
  GRADING_FILE,
  type GradedTest,
  type Grading,
  JUDGE,
  VERDICT_FILE,
  type Verdict,
} from '@vouchbox/protocol/grading';
import { blobBytesMax, fileBytesMax, LIMIT_DEFAULTS } from '@vouchbox/protocol/vocabulary';
import { heldNameOf } from '../../store/blobs/blobs-named.ts';
import type { BuiltProduct } from '../../store/jobs/builds.ts';
import type { GradingKey } from '../../store/records/gradings.ts';
import type { JobKey } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import type { OutputCopies } from '../artifact-content.ts';
import { blobContent } from '../blob-content.ts';
import { type ResultOptions, result } from '../view/result.ts';
import { digestIn, type GradingCommon, type StoredProgram, type TestContent, type TestHead } from './grading-body.ts';
import type { JobEnd, PlannedJob, ProgramRun } from './program-run.ts';

export interface GradedJobsOptions extends ResultOptions {
  readonly store: ResultOptions['store'] &
    Pick<Store, 'gradingProgram' | 'gradingTests' | 'gradedEnd' | 'inputs' | 'blob' | 'blobPiece' | 'productOf'>;
  readonly blobs: OutputCopies;
}

/** A grading's key, and the parts of the grading that stay in memory. */
export interface GradingParts extends GradingKey {
  readonly common: GradingCommon;
  readonly heads: readonly TestHead[];
  /** The tests that have files of their own; none if verdicts have version 1. */
  readonly withFiles: ReadonlySet<number>;
  /** The inputs that all tests of a program share, keyed by the program's place. They never change, and short ones are kept. */
  readonly programs: Map<number, StoredProgram>;
  /** The products of the grading's builds, keyed by their jobs. */
  readonly products: Map<string, BuiltProduct>;
}

/** Thrown if a program cannot be graded, for a reason that the caller may know. */
export class GradingProblem extends Error {}

const PLAIN = { stdin: null, args: [], env: {}, files: [], outputs: [], runtime: null } as const;
const NO_DEMANDS = { requirements: { minimum_isolation: 'none' }, limits: LIMIT_DEFAULTS } as const;
/** The largest limits that any job of a large grading needs. */
const LARGE = { ...LIMIT_DEFAULTS, cpu_seconds: 60, wall_seconds: 120, mem_mb: 1024 };

/** The specification of a grading's job. @throws GradingProblem */
export async function specOf(
  grading: GradingParts,
  planned: PlannedJob,
  { run, ...options }: GradedJobsOptions & { readonly run: ProgramRun },
): Promise<RequestedSpec> {
  if (planned.test === null) return await judgeSpec(grading, run, options);
  const { common } = grading;
  const content = await testContent(grading, planned.test, options);
  if (planned.purpose === 'test') {
    const { language, runtime, env, code, files } = await programContent(grading, planned.program, options);
    const { args } = content;
    const { limits, requirements } = common;
    const stdin = content.stdin === null ? null : await textOf(grading, content.stdin, options);
    const all = [...files, ...content.files] as StoredFile[];
    const given = { args, env, files: all, outputs: [], runtime, limits, requirements };
    return { language, code: await textOf(grading, code, options), stdin, ...given };
  }
  const { checker } = common;
  const end = run.endOf(planned.test);
  if (checker === null || end === null) throw new Error('a checker has nothing to check');
  const { language, runtime, env } = checker;
  const output = (await resultOf({ tenant: grading.tenant, job_id: end.job_id }, options)).stdout;
  const files = [
    ...(checker.files as StoredFile[]),
    inline('input/stdin', content.stdin === null ? '' : await textOf(grading, content.stdin, options)),
    await held('input/expected', { grading, text: content.expected ?? '' }, options),
    inline('input/output', output),
  ];
  return {
    ...PLAIN,
    ...NO_DEMANDS,
    args: [],
    outputs: [],
    language,
    runtime,
    env,
    code: await textOf(grading, checker.code, options),
    files,
  };
}

async function judgeSpec(grading: GradingParts, run: ProgramRun, options: GradedJobsOptions): Promise<RequestedSpec> {
  const { language } = await programContent(grading, run.program, options);
  const ends = run.ends();
  const tests: string[] = [];
  let bytes = 0;
  for (const [at, { test, check }] of ends.entries()) {
    const { name, points, compare } = grading.heads[at] as TestHead;
    const { expected } = await testContent(grading, at, options);
    const { job_id, receipt_sha256, terminal_reason, exit_code, truncated } = test;
    const graded: GradedTest = {
      name,
      points,
      job_id,
      receipt_sha256,
      terminal_reason,
      exit_code,
      truncated,
      stdout: (await resultOf({ tenant: grading.tenant, job_id }, options)).stdout,
      expected: expected === null ? null : await textOf(grading, expected, { ...options, isHeld: true }),
      compare: typeof compare === 'string' ? compare : 'lines',
      checker: check === null ? null : checkerRun(check),
    };
    const said = JSON.stringify(graded);
    bytes += Buffer.byteLength(said);
    // Reading stops as soon as there is too much for a judge, since the outputs of all tests together may not fit into memory.
    if (bytes > blobBytesMax) throw tooMuch(`more than ${blobBytesMax}`);
    tests.push(said);
  }
  const program: Grading['program'] = { language, code_sha256: ends[0]?.test.code_sha256 ?? null };
  const text = `{"program":${JSON.stringify(program)},"tests":[${tests.join(',')}]}`;
  const file = await held(GRADING_FILE, { grading, text }, options);
  const limits = Buffer.byteLength(text) > fileBytesMax ? LARGE : LIMIT_DEFAULTS;
  return {
    ...PLAIN,
    ...NO_DEMANDS,
    args: [],
    language: 'python',
    code: JUDGE,
    files: [file],
    outputs: [VERDICT_FILE],
    limits,
  };
}

function checkerRun({ job_id, receipt_sha256, code_sha256, terminal_reason, exit_code }: JobEnd): CheckerRun {
  return { job_id, receipt_sha256, code_sha256: code_sha256 ?? '', terminal_reason, exit_code };
}

export function inline(path: string, text: string): StoredFile {
  return { path, content_base64: Buffer.from(text).toString('base64') };
}

/**
 * Stores a secret input where no caller can name it. Only a judge's input can be too large.
 * @throws GradingProblem if the input is larger than a blob may be
 */
export async function held(
  path: string,
  { grading, text }: { readonly grading: GradingKey; readonly text: GradingText },
  options: GradedJobsOptions,
): Promise<StoredFile> {
  const content = Buffer.from(await textOf(grading, text, { ...options, isHeld: true }));
  if (content.length > blobBytesMax) throw tooMuch(`${content.length}`);
  const sha256 = sha256Hex(content);
  await options.blobs.hold(grading.tenant, { sha256, bytesMax: content.length, chunks: inPieces(content) }, 'to end');
  return { path, blob: `sha256:${sha256}`, held: true };
}

function tooMuch(bytes: string): GradingProblem {
  return new GradingProblem(
    `its output and the expected output have ${bytes} bytes; at most ${blobBytesMax} together can be judged`,
  );
}

const pieceBytes = 256 * 1024;

async function* inPieces(content: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += pieceBytes) yield content.subarray(at, at + pieceBytes);
}

/** The longest program that is kept in memory. A longer program is read again for each job that gets it. */
const programCharsMax = 65_536;

export async function programContent(
  { tenant, grading_id, programs }: GradingParts,
  position: number,
  { store }: GradedJobsOptions,
): Promise<StoredProgram> {
  const known = programs.get(position);
  if (known !== undefined) return known;
  const text = (await store.gradingProgram({ tenant, grading_id, position })) ?? 'null';
  const program = JSON.parse(text) as StoredProgram;
  if (text.length <= programCharsMax) programs.set(position, program);
  return program;
}

/** The contents of at most `limit` tests, from this place on. */
export async function testContents(
  { tenant, grading_id }: GradingKey,
  { from, limit }: { readonly from: number; readonly limit: number },
  { store }: GradedJobsOptions,
): Promise<readonly TestContent[]> {
  const found = await store.gradingTests({ tenant, grading_id, from, limit });
  return found.map((content) => JSON.parse(content) as TestContent);
}

export async function testContent(
  grading: GradingKey,
  position: number,
  options: GradedJobsOptions,
): Promise<TestContent> {
  const [content] = await testContents(grading, { from: position, limit: 1 }, options);
  return content as TestContent;
}

/** @throws GradingProblem if the text is not UTF-8 */
export async function textOf(
  { tenant }: GradingKey,
  text: GradingText,
  { store, isHeld = false }: GradedJobsOptions & { readonly isHeld?: boolean },
): Promise<string> {
  if (typeof text === 'string') return text;
  const sha256 = digestIn(text.blob);
  const found = await store.blob({ tenant, sha256: isHeld ? heldNameOf(sha256) : sha256 });
  if (found === null) throw new GradingProblem(`${text.blob} is not there any more`);
  const pieces = await Array.fromAsync(blobContent(store, { tenant, sha256, ...found }));
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(pieces));
  } catch (cause) {
    throw new GradingProblem(`${text.blob} is not UTF-8`, { cause });
  }
}

export async function resultOf(key: JobKey, options: GradedJobsOptions): Promise<FoldedResult> {
  const never = new AbortController().signal;
  const { body } = await result(key, { waitSeconds: 0, signal: never }, options);
  const pieces = await Array.fromAsync(body.pieces(), (piece) => Buffer.from(piece as string));
  return JSON.parse(Buffer.concat(pieces).toString()) as FoldedResult;
}

/** The judge's output; null if the judge wrote no verdict. */
export async function verdictOf(
  key: JobKey,
  receipt_sha256: string,
  options: GradedJobsOptions,
): Promise<ProgramVerdict | null> {
  const { status, artifacts } = await resultOf(key, options);
  const written = artifacts.find(({ path }) => path === VERDICT_FILE);
  if (status !== 'succeeded' || written === undefined) return null;
  const said = JSON.parse(Buffer.from(written.content_base64, 'base64').toString()) as Verdict;
  const { accepted, points, points_max } = said;
  return { accepted, points, points_max, job_id: key.job_id, receipt_sha256, verdict_sha256: written.sha256 };
}
