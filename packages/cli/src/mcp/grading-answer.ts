/** What the tool `grade` answers about a grading: members for a program to read, and a short text that says the same. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import { type GradingDetail, type ServiceClient, TransportFailure } from '@vouchbox/client';
import { verdictBytes } from '@vouchbox/evidence';
import { GRADING_STATUSES, Nullable, PROGRAM_STATUSES, type Static, Type } from '@vouchbox/protocol';
import { TEST_VERDICTS_2, type TestResult2, type Verdict2 } from '@vouchbox/protocol/grading-steps';
import { cutText, told, toldBetween } from './told-text.ts';

const ToldBuild = Type.Object({
  job_id: Type.String(),
  compiler: Nullable(Type.Enum(['error', 'limit'], { description: 'Null if the compiler succeeded.' })),
  terminal_reason: Nullable(Type.String()),
  stderr: Type.String({ description: "The compiler's messages, if it failed." }),
  stderr_left_out: Type.Integer({ description: 'Characters that this answer leaves out.' }),
});
type ToldBuild = Static<typeof ToldBuild>;

const ToldTest = Type.Object({
  name: Type.String(),
  group: Type.String(),
  verdict: Type.Enum([...TEST_VERDICTS_2]),
  points: Type.Number(),
  points_max: Type.Number(),
  terminal_reason: Nullable(Type.String({ description: 'How the program ended.' })),
  exit_code: Nullable(Type.Integer()),
  cpu_ms: Nullable(Type.Number()),
  wall_ms: Nullable(Type.Number()),
  memory_peak_bytes: Nullable(Type.Number()),
  job_id: Nullable(Type.String({ description: 'The job that ran it; null if none did.' })),
  check_job_id: Nullable(Type.String({ description: 'The job of the checker or the interactor.' })),
});
type ToldTest = Static<typeof ToldTest>;

const ToldProgram = Type.Object({
  name: Nullable(Type.String()),
  language: Type.String(),
  status: Type.Enum([...PROGRAM_STATUSES]),
  problem: Nullable(Type.String({ description: 'The reason if there is no verdict.' })),
  accepted: Nullable(Type.Boolean()),
  points: Nullable(Type.Number()),
  points_max: Nullable(Type.Number()),
  judge_job_id: Nullable(Type.String({ description: 'The job that judged: its attestation signs the verdict.' })),
  build: Nullable(ToldBuild),
  groups: Type.Array(
    Type.Object({ name: Type.String(), passed: Type.Boolean(), points: Type.Number(), points_max: Type.Number() }),
  ),
  tests: Type.Array(ToldTest),
  tests_left_out: Type.Integer({ description: 'Tests that this answer leaves out; accepted ones are left out first.' }),
});
type ToldProgram = Static<typeof ToldProgram>;

/** The structured answer about a grading. A value that was not observed is null, as in the service's own answers. */
export const GradingAnswer = Type.Object({
  grading_id: Type.String(),
  status: Type.Enum([...GRADING_STATUSES]),
  programs: Type.Array(ToldProgram),
});
export type GradingAnswer = Static<typeof GradingAnswer>;

/** The most tests that an answer lists for one program: `toldTestsMax` in its members, `linesMax` in its text. */
const toldTestsMax = 100;
const linesMax = 10;

/** The most characters shown of one compiler's messages. An answer may have messages from many compilers. */
const compilerCharsMax = 4096;

/** Describes a grading that has ended. A grading that judged no program is an error; a wrong answer is a result. */
export async function gradingAnswer(
  client: ServiceClient,
  { grading_id, status, graded }: GradingDetail,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const programs: ToldProgram[] = [];
  for (const program of graded) programs.push(await toldProgram(client, program, signal));
  const answer: GradingAnswer = { grading_id, status, programs };
  return {
    structuredContent: { ...answer },
    content: [{ type: 'text', text: asText(answer) }],
    ...(programs.every(({ accepted }) => accepted === null) && { isError: true }),
  };
}

type Graded = GradingDetail['graded'][number];

async function toldProgram(
  client: ServiceClient,
  { name, language, status, problem, verdict: said }: Graded,
  signal: AbortSignal,
): Promise<ToldProgram> {
  const known = { name, language, status, problem };
  if (said === null) return { ...known, ...NOT_JUDGED };
  const { accepted, points, points_max, job_id } = said;
  const { program, groups, tests } = await readVerdict(client, said, signal);
  const shown = mostTelling(tests);
  return {
    ...known,
    accepted,
    points,
    points_max,
    judge_job_id: job_id,
    build: program.build && (await toldBuild(client, program.build, signal)),
    groups: groups.map((group) => {
      return { name: group.name, passed: group.passed, points: group.points, points_max: group.points_max };
    }),
    tests: shown.map(toldTest),
    tests_left_out: tests.length - shown.length,
  };
}

const NOT_JUDGED = {
  accepted: null,
  points: null,
  points_max: null,
  judge_job_id: null,
  build: null,
  groups: [],
  tests: [],
  tests_left_out: 0,
};

/** @throws TransportFailure `undecodable` if the verdict has another digest than the grading names */
async function readVerdict(
  client: ServiceClient,
  { job_id, verdict_sha256 }: NonNullable<Graded['verdict']>,
  signal: AbortSignal,
): Promise<Verdict2> {
  const bytes = verdictBytes(await client.result(job_id, { signal }), verdict_sha256);
  if (bytes === null) throw new TransportFailure('undecodable', `the verdict of ${job_id} differs from the grading's`);
  return JSON.parse(new TextDecoder().decode(bytes)) as Verdict2;
}

async function toldBuild(
  client: ServiceClient,
  { job_id, compiler, terminal_reason }: NonNullable<Verdict2['program']['build']>,
  signal: AbortSignal,
): Promise<ToldBuild> {
  const stderr = compiler === null ? '' : (await client.result(job_id, { signal })).stderr;
  const { text, leftOut } = cutText(stderr, compilerCharsMax);
  return { job_id, compiler, terminal_reason, stderr: text, stderr_left_out: leftOut };
}

/** The tests that fit into an answer, in their order. If there are too many, accepted tests are left out first. */
function mostTelling(tests: readonly TestResult2[]): readonly TestResult2[] {
  if (tests.length <= toldTestsMax) return tests;
  const ranked = [...tests].sort((one, other) => Number(isAccepted(one)) - Number(isAccepted(other)));
  const shown = new Set(ranked.slice(0, toldTestsMax));
  return tests.filter((test) => shown.has(test));
}

function isAccepted({ verdict }: Pick<ToldTest, 'verdict'>): boolean {
  return verdict === 'accepted';
}

function toldTest({ name, group, verdict, points, points_max, run, check }: TestResult2): ToldTest {
  const { terminal_reason = null, exit_code = null, job_id = null } = run ?? {};
  const { cpu_ms = null, wall_ms = null, memory_peak_bytes = null } = run ?? {};
  return {
    name,
    group,
    verdict,
    points,
    points_max,
    terminal_reason,
    exit_code,
    cpu_ms,
    wall_ms,
    memory_peak_bytes,
    job_id,
    check_job_id: check?.job_id ?? null,
  };
}

function asText({ grading_id, status, programs }: GradingAnswer): string {
  return [`${grading_id} ${status}`, ...programs.flatMap(programLines)].join('\n');
}

/** The lines about a program, and about those of its tests that were not accepted. */
function programLines(program: ToldProgram, index: number): string[] {
  const { name, status, problem, accepted, points, points_max, build, tests, judge_job_id } = program;
  const title = name === null ? `program ${index + 1}` : told(name);
  if (accepted === null) return [`${title} ${status}${problem === null ? '' : `: ${told(problem)}`}`];
  const word = accepted ? 'accepted' : 'not accepted';
  const lines = tests.filter((test) => !isAccepted(test)).map(testLine);
  const more = lines.length > linesMax ? [`  and ${lines.length - linesMax} more tests that were not accepted`] : [];
  const compiler = toldBetween('what the compiler wrote', build?.stderr ?? '', build?.stderr_left_out ?? 0);
  return [
    `${title} ${word}: ${points} of ${points_max} points, judged by ${judge_job_id}`,
    ...lines.slice(0, linesMax),
    ...more,
    ...(compiler === '' ? [] : [compiler]),
  ];
}

function testLine({ name, verdict, points, points_max, terminal_reason, exit_code, job_id }: ToldTest): string {
  const end = terminal_reason === 'exited' ? `exit code ${exit_code}` : terminal_reason;
  const known = [`${points} of ${points_max} points`, end, job_id].filter((part) => part !== null);
  return `  ${told(name)} ${verdict}: ${known.map(told).join(', ')}`;
}
