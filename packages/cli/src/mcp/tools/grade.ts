/** The tool `grade`: runs programs against tests that they do not see, and answers with a verdict on each program. */
import type { CallToolResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import type { GradingEvent, ServiceClient } from '@vouchbox/client';
import {
  Closed,
  GraderProgram,
  GradingProgram,
  type GradingSubmission,
  GradingTest,
  gradingTestsMax,
  gradingValidatorsMax,
  ISOLATION_CLASSES,
  type Static,
  GradingSubmission as Submission,
  Type,
} from '@vouchbox/protocol';
import { VERDICT_SCHEMA_2 } from '@vouchbox/protocol/grading-steps';
import { GradingAnswer, gradingAnswer } from '../grading-answer.ts';
import { InputFile, withFiles } from '../input-file.ts';
import { told } from '../told-text.ts';
import { addTool, cancelWith } from '../tool.ts';

/** The most programs that an answer has room for. */
const programsMax = 20;

const files = Type.Optional(Type.Array(InputFile, { description: 'Files that it opens below input/.' }));
const code = Type.String({ minLength: 1, description: 'The whole program.' });
const text = Type.Optional(Type.String());
const Grader = Closed({ ...GraderProgram.properties, code, files });
const { groups, stop } = Submission.properties;

const Grade = Closed({
  programs: Type.Array(Closed({ ...GradingProgram.properties, code, files }), {
    minItems: 1,
    maxItems: programsMax,
    description: 'Every program runs against every test.',
  }),
  tests: Type.Array(Closed({ ...GradingTest.properties, stdin: text, expected: text, files }), {
    minItems: 1,
    maxItems: gradingTestsMax,
    description: 'Tests with unique names.',
  }),
  groups,
  stop,
  checker: Type.Optional(Grader),
  interactor: Type.Optional(Grader),
  validators: Type.Optional(Type.Array(Grader, { maxItems: gradingValidatorsMax })),
  cpu_seconds: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: 'The time limit of each test.' })),
  timeout_seconds: Type.Optional(
    Type.Number({ exclusiveMinimum: 0, description: 'Wall clock; by default well above cpu_seconds.' }),
  ),
  memory_mb: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  minimum_isolation: Type.Optional(
    Type.Enum([...ISOLATION_CLASSES], { description: 'Refuse to run in a weaker isolation class.' }),
  ),
});
type Grade = Static<typeof Grade>;

const DESCRIPTION = `Grades programs against tests that they do not see. Each test is a job of its own in a fresh cell, without a network: the program
reads stdin, and its stdout is compared with expected, or a checker judges it. A checker finds input/stdin, input/expected and
input/output, and accepts with exit code 0 or refuses with 1. Without expected and a checker only the end of the program counts.
C, C++ and Java are compiled once. A wrong answer is a result; an error means that nothing was judged. get_job reads what the
job of a test printed. The verdict is signed: verify_job checks the job that judged.`;

export function addGrade(server: McpServer, client: ServiceClient): void {
  addTool(server, 'grade', {
    title: 'Grade programs',
    description: DESCRIPTION,
    input: Grade,
    output: GradingAnswer,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    run: (asked, context) => grade(client, asked, context),
  });
}

/** Cancelling the call cancels its grading. */
async function grade(client: ServiceClient, asked: Grade, { mcpReq }: ServerContext): Promise<CallToolResult> {
  const { signal } = mcpReq;
  const { grading_id } = await client.submitGrading(bodyOf(asked), { signal });
  cancelWith(signal, () => client.cancelGrading(grading_id));
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken !== undefined) {
    for await (const event of client.gradingEvents(grading_id, { signal })) {
      const params = { progressToken, progress: event.seq, message: messageOf(event) };
      await mcpReq.notify({ method: 'notifications/progress', params });
    }
  }
  return await gradingAnswer(client, await client.waitForGrading(grading_id, { signal }), signal);
}

function bodyOf(asked: Grade): GradingSubmission {
  const { cpu_seconds, timeout_seconds, memory_mb, minimum_isolation, ...said } = asked;
  const { programs, checker, interactor, validators } = said;
  const limits = {
    ...(cpu_seconds !== undefined && { cpu_seconds }),
    ...(timeout_seconds !== undefined && { wall_seconds: timeout_seconds }),
    ...(memory_mb !== undefined && { mem_mb: memory_mb }),
  };
  return {
    ...said,
    verdict: VERDICT_SCHEMA_2,
    programs: programs.map(withFiles),
    tests: said.tests.map(withFiles),
    ...(checker && { checker: withFiles(checker) }),
    ...(interactor && { interactor: withFiles(interactor) }),
    ...(validators && { validators: validators.map(withFiles) }),
    limits,
    ...(minimum_isolation && { requirements: { minimum_isolation } }),
  } as GradingSubmission;
}

/** The outcome, in a few words. */
function messageOf({ kind, data }: GradingEvent): string {
  const { name, test, terminal_reason, status, verdict } = data;
  if (kind === 'job') return told(`${test ?? name ?? 'a job'}: ${terminal_reason ?? 'ended'}`);
  if (kind === 'finished') return told(status ?? 'finished');
  const points = verdict ? `${verdict.points} of ${verdict.points_max} points` : (status ?? 'ended');
  return told(`${name ?? 'program'}: ${points}`);
}
