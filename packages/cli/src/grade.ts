/**
 * `vouchbox grade`: runs a program against tests that it does not see. Prints the verdict of each test, and can write the
 * verdicts together with every job's evidence, for `service-verify verdict`.
 */
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Comparison, GradeOptions, GradeResult, GradeTest, RunResult, ServiceClient } from '@vouchbox/client';
import type { JobSubmission } from '@vouchbox/protocol';
import { CommandFailure } from './failures/command-failure.ts';
import { EXIT } from './failures/exit-code.ts';
import { tellFailure } from './failures/tell-failure.ts';
import { UsageError } from './failures/usage-error.ts';
import { checkInputs } from './problem/check-inputs.ts';
import type { Problem } from './problem/problem.ts';
import { readProblem } from './problem/read-problem.ts';
import { type GradedProblem, gradedProblem } from './report/graded-problem.ts';
import { htmlReport } from './report/html-report.ts';
import { textReport } from './report/text-report.ts';
import { type AccessOptions, namedService } from './service/service-access.ts';
import { enterOwnUsers, serviceOrOwn } from './service/service-or-own.ts';
import { readSubmission, type SubmissionOptions } from './submission/submission-options.ts';
import { takeInterrupts, unlessInterrupted } from './terminal/interrupts.ts';
import { note, printResult } from './terminal/print.ts';
import { clampedRemarks } from './terminal/remarks.ts';
import { shellWord } from './terminal/shell-word.ts';
import {
  checkVerdictDirectory,
  type EvidenceReading,
  type VerdictDirectory,
  writeVerdict,
} from './verdict-directory.ts';

export interface GradeCommandOptions
  extends AccessOptions,
    Pick<SubmissionOptions, 'language' | 'limit' | 'runtime' | 'minimumIsolation'> {
  /** A folder of tests, or a problem package. */
  readonly tests: string;
  readonly checker?: string;
  readonly interactor?: string;
  /** Whether the package's input validators run first. */
  readonly checkInputs?: true;
  /** The file for the report, an HTML page. */
  readonly report?: string;
  readonly compare: Comparison;
  /** The directory to make. */
  readonly output?: string;
  /** Whether the new directory may replace the one from an earlier grading. */
  readonly force?: true;
  readonly json?: true;
}

/** Returns 0; 1 if a test was not accepted or a file is missing; 130 after an interrupt. An interrupt cancels the grading. */
export async function grade(file: string, options: GradeCommandOptions): Promise<number> {
  await enterOwnUsers(namedService(options));
  const { code, language, limits: asked, runtime, requirements } = await readSubmission(file, { ...options, ...ALONE });
  const problem = await readProblem(options.tests, options.compare);
  const { tests, checker, interactor } = await judgedBy(problem, options);
  const limits = { ...problem.limits, ...asked };
  const place = options.output === undefined ? null : { target: options.output, force: options.force === true };
  if (place !== null) await checkVerdictDirectory(place);
  using interrupts = takeInterrupts();
  await using service = await serviceOrOwn(options, 'on');
  const program = { code, language, limits, ...(runtime && { runtime }), ...(requirements && { requirements }) };
  for (const line of problem.notes) note(line);
  const keys = new Set<string>();
  const runs = new Map<string, RunResult>();
  const tellClamps = clampNotes(limits);
  const onTest = (name: string, run: RunResult) => {
    runs.set(name, run);
    tellClamps(name, run);
  };
  const graded = await unlessInterrupted(interrupts.asked, async (signal) => {
    // The service names only its current key, and may replace that key during the grading.
    const first = place && (await service.client.publicKey({ signal }).catch(() => null));
    if (first !== null) keys.add(first.public_key_pem);
    signal.throwIfAborted();
    if (options.checkInputs) await checkInputs(problem, service.client, signal);
    const groups = problem.groups.length === 0 ? {} : { groups: problem.groups };
    const grading: GradeOptions = { tests, checker, interactor, ...groups, signal, onTest };
    return await service.client.grade(program, grading).catch(rethrowInWords);
  });
  if (graded === null) {
    note('interrupted: there is no verdict');
    return EXIT.cancelled;
  }
  const seen = gradedProblem(problem, graded, { program: `${basename(file)} (${language})`, runs });
  printResult(options, textReport(seen), graded.verdict);
  if (options.json) for (const [name, why] of graded.notRun) note(`${name} was not run: ${why}`);
  if (checker === undefined && interactor === undefined) noteOpenTests(tests);
  const { report } = options;
  return await finish({ graded, seen, report, place, client: service.patient, keys }, interrupts.asked);
}

/** A program that is submitted with nothing else. */
const ALONE = { file: [], env: [], output: [] };

interface Finished extends Omit<EvidenceReading, 'signal'> {
  readonly graded: GradeResult;
  readonly seen: GradedProblem;
  readonly report: string | undefined;
  readonly place: VerdictDirectory | null;
}

/** Writes the report, the compiler's message and the evidence. If one part fails, the others still run. Returns the exit code. */
async function finish({ graded, seen, report, place, ...reading }: Finished, asked: AbortSignal): Promise<number> {
  let isWhole = graded.verdict.accepted;
  const parts: ((signal: AbortSignal) => Promise<boolean>)[] = [
    async () => report === undefined || (await writeReport(report, seen)),
    async (signal) => await noteCompiler(graded, reading.client, signal),
    async (signal) => place === null || (await writeEvidence(place, graded, { ...reading, signal })),
  ];
  note(`the judge was ${graded.job_id}`);
  for (const part of parts) {
    const done = await unlessInterrupted(asked, part).catch((error: unknown) => {
      tellFailure(error, EXIT.failed);
      return false;
    });
    if (done === null) {
      note(`interrupted${place === null ? '' : ': the evidence was not written'}`);
      return EXIT.cancelled;
    }
    isWhole &&= done;
  }
  return isWhole ? EXIT.ok : EXIT.failed;
}

/** Writes the verdict with its evidence, and says how to check it. False if evidence is missing. */
async function writeEvidence(place: VerdictDirectory, graded: GradeResult, reading: EvidenceReading): Promise<boolean> {
  const missing = await writeVerdict(place, graded, reading);
  for (const { path, job_id: id, why } of missing) {
    const add = `vouchbox export ${id} --evidence-only --public-key KEY --output ${shellWord(`${place.target}/${path}`)}`;
    note(`${path} is missing, because ${why}; add it: ${add}`);
  }
  const verify = `npx --no service-verify verdict ${shellWord(place.target)} --public-key KEY --tenant TENANT`;
  note(`${place.target} has the verdict and ${missing.length === 0 ? 'its' : 'the other'} evidence: ${verify}`);
  if (reading.keys.size > 1)
    note('the service replaced its key: give each key that signed a job, each with --public-key');
  return missing.length === 0;
}

type Judging = Pick<GradeOptions, 'tests' | 'checker' | 'interactor'>;

/** The tests with their judge. A checker or interactor named by an option replaces the package's own. */
async function judgedBy(
  problem: Problem,
  named: Pick<GradeCommandOptions, 'checker' | 'interactor'>,
): Promise<Judging> {
  const { tests } = problem;
  if (named.checker === undefined && named.interactor === undefined)
    return { tests, checker: problem.checker ?? undefined, interactor: problem.interactor ?? undefined };
  if (named.checker !== undefined && problem.interactor !== null)
    throw new UsageError('the problem is interactive: its interactor judges the programs, so --checker has no use');
  const [checker, interactor] = await Promise.all([named.checker, named.interactor].map(readGrader));
  return { tests: tests.map((test) => ({ ...test, checkerArgs: [] })), checker, interactor };
}

async function readGrader(file: string | undefined): Promise<GradeOptions['checker']> {
  if (file === undefined) return undefined;
  const { language, code } = await readSubmission(file, { ...ALONE, limit: [] });
  return { language, code };
}

/** Names the tests without an expected output, because a test whose `NAME.out` was lost must not look like a passed test. */
function noteOpenTests(tests: readonly GradeTest[]): void {
  const open = tests.filter(({ expected }) => expected === undefined).map(({ name }) => `${name}.out`);
  if (open.length > 0) note(`there is no ${open.join(', no ')}: for such a test, only how the program ends counts`);
}

const compilerLinesMax = 20;

/** Prints the compiler's message about an error in the program. */
async function noteCompiler({ verdict }: GradeResult, client: ServiceClient, signal: AbortSignal): Promise<boolean> {
  const { build } = verdict.program;
  if (build?.compiler !== 'error') return true;
  const { stderr } = await client.result(build.job_id, { signal });
  for (const line of stderr.trimEnd().split('\n').slice(0, compilerLinesMax)) note(`the compiler: ${line}`);
  return true;
}

/** Reports each limit that the service changed, once. */
function clampNotes(asked: JobSubmission['limits'] = {}): (name: string, run: RunResult) => void {
  const said = new Set<string>();
  return (_name, { effective_limits }) => {
    for (const [name, remark] of clampedRemarks(asked, effective_limits ?? {})) {
      if (!said.has(name)) note(`--limit ${name}=${remark}`);
      said.add(name);
    }
  };
}

/** Reports the library's refusal as wrong usage: the fault is in what the user typed or in one of the user's files. */
function rethrowInWords(error: unknown): never {
  if (error instanceof TypeError && error.name === 'GradingRefusal')
    throw new UsageError(error.message, { cause: error });
  throw error;
}

async function writeReport(file: string, graded: GradedProblem): Promise<boolean> {
  const made = `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  try {
    await writeFile(file, htmlReport(graded, made));
  } catch (error) {
    throw new CommandFailure(`${file} cannot be written: ${(error as Error).message}`, { cause: error });
  }
  note(`${file} has the report`);
  return true;
}
