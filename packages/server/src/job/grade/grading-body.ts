/**
 * Turns the parsed body of POST /v1/gradings into the parts that are stored, or refuses it with the JSON pointer of the
 * faulty member. Each program and each test is checked in the form of the submission that will be made from it.
 */
import {
  blobBytesMax,
  codeBytesMax,
  envMax,
  fileBytesMax,
  type GraderProgram,
  GradingSubmission,
  type GradingTest,
  type GradingText,
  gradingExpectedBytesMax,
  gradingRunsMax,
  type JobSubmission,
  type LimitsInput,
  misfitOf,
  type ProgramState,
  type RequestedSpec,
  stdinBytesMax,
  streamBytesMax,
  wordsTotalBytesMax,
} from '@vouchbox/protocol';
import { VERDICT_SCHEMA } from '@vouchbox/protocol/grading';
import {
  CHECKED_FILES,
  type Comparing,
  type GradingPlan,
  planProblem,
  VERDICT_SCHEMA_2,
} from '@vouchbox/protocol/grading-steps';
import { ServiceError } from '../../ground/service-error.ts';
import { quoted, refusal } from '../admit/refuse.ts';
import { type ParsedSubmission, parseSubmission, problemOf } from '../admit/submission.ts';

/** A program in the form that its jobs need. */
export interface StoredProgram extends Pick<ParsedSubmission, 'language' | 'runtime' | 'env' | 'files'> {
  readonly code: GradingText;
}

/** The facts about a test that every step needs. */
export interface TestHead {
  readonly name: string;
  readonly points: number;
  readonly compare: Comparing;
  readonly group?: string;
}

/** A test's texts and files. */
export interface TestContent extends Pick<ParsedSubmission, 'args' | 'files' | 'env'> {
  readonly checker_args: readonly string[];
  readonly stdin: GradingText | null;
  readonly expected: GradingText | null;
}

/** The members that apply to all runs. */
export interface GradingCommon extends Pick<RequestedSpec, 'limits' | 'requirements'> {
  readonly checker: StoredGrader | null;
  /** Absent if verdicts have version 1. */
  readonly plan?: Pick<GradingPlan, 'groups' | 'stop' | 'limits'>;
  readonly validators?: readonly StoredGrader[];
  readonly interactor?: StoredGrader;
}

export interface StoredGrader extends StoredProgram, Pick<GraderProgram, 'codes' | 'args'> {
  /** The limits as requested. */
  readonly asked?: LimitsInput;
}

export interface ParsedTest {
  readonly head: TestHead;
  readonly content: TestContent;
}

export interface ParsedGrading {
  readonly common: GradingCommon;
  readonly programs: readonly { readonly state: ProgramState; readonly content: StoredProgram }[];
  readonly tests: readonly ParsedTest[];
}

/** A blob that a grading names, and the blob's maximum size. */
export interface NamedText {
  readonly sha256: string;
  readonly pointer: string;
  readonly bytesMax: number;
  /** Whether the blob is a program's expected output, which others must not see. */
  readonly isHeld: boolean;
}

/** @throws ServiceError `invalid_request`, `payload_too_large`, and as `parseSubmission` does */
export function parseGrading(body: unknown): ParsedGrading {
  const misfit = misfitOf(GradingSubmission, body);
  if (misfit !== null) throw refusal('invalid_request', misfit.pointer, problemOf(misfit));
  const submission = body as GradingSubmission;
  const { programs, tests, checker, interactor, validators = [], limits, requirements } = submission;
  const isOld = (submission.verdict ?? VERDICT_SCHEMA) === VERDICT_SCHEMA;
  if (isOld) refuseNewer(submission);
  if (checker !== undefined && interactor !== undefined)
    throw refusal('invalid_request', '/checker', 'must be left out: the interactor judges');
  const runs = programs.length * tests.length;
  if (runs > gradingRunsMax)
    throw refusal('payload_too_large', '', `asks for ${runs} runs; at most ${gradingRunsMax} are allowed`);
  const shared = { ...(limits && { limits }), ...(requirements && { requirements }) };
  const common = specOf('', { language: 'python', code: ' ', ...shared });
  const named = new Set<string>();
  const parsed = {
    common: {
      limits: common.limits,
      requirements: common.requirements,
      checker: checker === undefined ? null : graderOf('/checker', checker),
      ...(!isOld && {
        plan: planOf(submission),
        validators: validators.map((validator, at) => graderOf(`/validators/${at}`, validator)),
        ...(interactor !== undefined && { interactor: graderOf('/interactor', interactor) }),
      }),
    },
    programs: programs.map(({ name = null, ...program }, index) => {
      const content = programOf(`/programs/${index}`, program);
      const { language } = content;
      return { content, state: { name, language, status: 'waiting', verdict: null, problem: null } };
    }),
    tests: tests.map((test, index) => {
      if (named.has(test.name)) throw refusal('invalid_request', `/tests/${index}/name`, 'is the name of two tests');
      named.add(test.name);
      return testOf(`/tests/${index}`, test, checker);
    }),
  } satisfies ParsedGrading;
  checkVariables(parsed);
  return parsed;
}

/** Checks each run's variables. Those of its program and those of its test must together fit the limits for one job. */
function checkVariables({ programs, tests }: Pick<ParsedGrading, 'programs' | 'tests'>): void {
  const sizeOf = (env: Readonly<Record<string, string>>) => {
    const words = Object.values(env);
    return { count: words.length, bytes: words.reduce((sum, word) => sum + Buffer.byteLength(word), 0) };
  };
  const ofTests = tests.map(({ content }) => sizeOf(content.env));
  for (const [at, { content }] of programs.entries()) {
    const { count, bytes } = sizeOf(content.env);
    const wrong = ofTests.findIndex((own) => own.count + count > envMax || own.bytes + bytes > wordsTotalBytesMax);
    if (count === 0 || wrong === -1) continue;
    const problem = `and that of ${quoted(tests[wrong]?.head.name ?? '')} have more than ${envMax} variables or ${wordsTotalBytesMax} bytes`;
    throw refusal('payload_too_large', `/programs/${at}/env`, problem);
  }
}

type Program = GradingSubmission['programs'][number];

function programOf(pointer: string, { code, ...program }: Program): StoredProgram {
  const spec = specOf(pointer, { ...program, code: typeof code === 'string' ? code : ' ' });
  const { language, runtime, env, files } = spec;
  return { language, runtime, env, files, code };
}

/** Members that only verdicts of version 2 have. */
const NEWER = {
  whole: ['groups', 'stop', 'validators', 'interactor'],
  test: ['group', 'env', 'checker_args'],
  checker: ['codes', 'args', 'limits'],
} as const;

function refuseNewer(submission: GradingSubmission): void {
  const refuse = (pointer: string) => {
    throw refusal('invalid_request', pointer, `needs the verdict ${VERDICT_SCHEMA_2}`);
  };
  for (const name of NEWER.whole) if (submission[name] !== undefined) refuse(`/${name}`);
  for (const name of NEWER.checker) if (submission.checker?.[name] !== undefined) refuse(`/checker/${name}`);
  for (const [at, test] of submission.tests.entries()) {
    for (const name of NEWER.test) if (test[name] !== undefined) refuse(`/tests/${at}/${name}`);
    if (typeof test.compare === 'object') refuse(`/tests/${at}/compare`);
  }
}

/** A grading's plan. @throws ServiceError `invalid_request` if the grading cannot have a verdict */
function planOf({ tests, groups, stop, limits }: GradingSubmission): NonNullable<GradingCommon['plan']> {
  const planned = tests.map(({ name, group, points, compare }) => ({ name, group, points, compare }));
  const plan = { ...(groups && { groups }), ...(stop !== undefined && { stop }), ...(limits && { limits }) };
  const flaw = planProblem({ tests: planned, ...plan });
  if (flaw !== null) throw refusal('invalid_request', flaw[0], `cannot be graded: ${flaw[1]}`);
  return plan;
}

function graderOf(pointer: string, { codes, args, limits, ...program }: GraderProgram): StoredGrader {
  const { args: words } = specOf(pointer, {
    language: program.language,
    code: ' ',
    args: args ?? [],
    limits: limits ?? {},
  });
  return { ...programOf(pointer, program), ...(codes && { codes }), args: words, ...(limits && { asked: limits }) };
}

function testOf(pointer: string, test: GradingTest, checker: GraderProgram | undefined): ParsedTest {
  const { name, stdin = null, args = [], files = [], expected = null, compare = 'lines', points = 1 } = test;
  const { group, env = {}, checker_args = [] } = test;
  const plain = typeof stdin === 'string' ? stdin : null;
  const spec = specOf(pointer, { language: 'python', code: ' ', stdin: plain, args, files, env });
  const words = [...Object.values(CHECKED_FILES), ...(checker?.args ?? []), ...checker_args];
  specOf(pointer, { language: 'python', code: ' ', args: words });
  const bytesMax = checker === undefined ? streamBytesMax : fileBytesMax;
  const bytes = typeof expected === 'string' ? Buffer.byteLength(expected) : 0;
  const problem = `is ${bytes} bytes; at most ${bytesMax} are allowed`;
  if (bytes > bytesMax) throw refusal('payload_too_large', `${pointer}/expected`, problem);
  if (!(name + (typeof expected === 'string' ? expected : '')).isWellFormed())
    throw refusal('invalid_request', pointer, 'holds a lone surrogate, which has no UTF-8 form');
  const head = { name, points, compare, ...(group !== undefined && { group }) };
  return { head, content: { stdin, args: spec.args, env: spec.env, checker_args, files: spec.files, expected } };
}

/** Checks a submission that is a part of the body. */
function specOf(pointer: string, submission: JobSubmission): ParsedSubmission {
  try {
    return parseSubmission(submission);
  } catch (error) {
    throw pointing(pointer, error);
  }
}

/** Does work that may refuse a part of the body, and makes a refusal point into that part. */
export async function inPart<Answer>(pointer: string, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    throw pointing(pointer, error);
  }
}

/** A refusal of a part of the body, changed so that it points into that part. */
export function pointing(pointer: string, error: unknown): unknown {
  if (!(error instanceof ServiceError) || !/^(\/|the body)/.test(error.message) || pointer === '') return error;
  return new ServiceError(error.code, `${pointer}${error.message.replace(/^the body/, '')}`);
}

/** The members, with the result of `other` in place of each grader's program. `pointer` is the program's place in the body. */
export function withGraders<Grader>(
  { checker, interactor, validators, ...common }: GradingCommon,
  other: (grader: StoredGrader, pointer: string) => Grader,
) {
  return {
    ...common,
    checker: checker && other(checker, '/checker'),
    ...(interactor && { interactor: other(interactor, '/interactor') }),
    ...(validators && { validators: validators.map((validator, at) => other(validator, `/validators/${at}`)) }),
  };
}

/** The grader's programs. */
export function gradersOf(common: GradingCommon) {
  const graders: { readonly pointer: string; readonly grader: StoredGrader }[] = [];
  withGraders(common, (grader, pointer) => graders.push({ pointer, grader }));
  return graders;
}

/** The uploads that a grading names in place of texts, and their maximum sizes. */
export function namedTexts({ common, programs, tests }: ParsedGrading): NamedText[] {
  const text = (said: GradingText | null, pointer: string, bytesMax: number, isHeld = false): NamedText[] =>
    said === null || typeof said === 'string' ? [] : [{ sha256: digestIn(said.blob), pointer, bytesMax, isHeld }];
  const isOld = common.plan === undefined;
  const stdinMax = isOld ? stdinBytesMax : blobBytesMax;
  const expectedMax = isOld ? (common.checker === null ? streamBytesMax : fileBytesMax) : blobBytesMax;
  return [
    ...gradersOf(common).flatMap(({ pointer, grader }) => text(grader.code, `${pointer}/code`, codeBytesMax)),
    ...programs.flatMap(({ content }, index) => text(content.code, `/programs/${index}/code`, codeBytesMax)),
    ...tests.flatMap(({ content }, index) => [
      ...text(content.stdin, `/tests/${index}/stdin`, stdinMax),
      ...text(content.expected, `/tests/${index}/expected`, expectedMax, true),
    ]),
  ];
}

export function digestIn(blob: string): string {
  return blob.slice('sha256:'.length);
}

/** @throws ServiceError `payload_too_large` if a judge of version 1, which gets all expected outputs, cannot get so much */
export function checkExpected({ common, tests }: ParsedGrading, sizes: ReadonlyMap<string, number>): void {
  if (common.plan !== undefined) return;
  const bytes = tests.reduce((sum, { content: { expected } }) => {
    if (expected === null) return sum;
    return (
      sum + (typeof expected === 'string' ? Buffer.byteLength(expected) : (sizes.get(digestIn(expected.blob)) ?? 0))
    );
  }, 0);
  const problem = `expect ${bytes} bytes together; at most ${gradingExpectedBytesMax} are allowed`;
  if (bytes > gradingExpectedBytesMax) throw refusal('payload_too_large', '/tests', problem);
}
