/** Makes gradings at a service, and returns their verdicts and jobs in full. */
import type { GradingSubmission, JobDetail, ServiceClient } from '@vouchbox/client';
import type { Verdict2 } from '@vouchbox/protocol/grading-steps';

export interface GradedProgram {
  /** Null if the program got no verdict; `problem` then says why. */
  readonly verdict: Verdict2 | null;
  readonly problem: string | null;
  /** Ids of the program's jobs, by names such as `build` and `test 3`. If a name occurs twice, the last job counts. */
  readonly jobs: ReadonlyMap<string, string>;
}

/** Asks for verdicts of version 2, and waits for all of them. */
export async function graded(
  client: ServiceClient,
  body: Omit<GradingSubmission, 'verdict'>,
): Promise<{ readonly grading_id: string; readonly programs: readonly GradedProgram[] }> {
  const { grading_id } = await client.submitGrading({ verdict: 'urn:svc:verdict:v2', ...body });
  const jobs = body.programs.map(() => new Map<string, string>());
  for await (const { kind, data } of client.gradingEvents(grading_id)) {
    if (kind === 'job') jobs[data.program ?? 0]?.set(data.name ?? '', data.job_id ?? '');
  }
  const { graded: states } = await client.waitForGrading(grading_id);
  const programs: GradedProgram[] = [];
  for (const [at, { verdict: judged, problem, status }] of states.entries()) {
    const verdict = judged === null ? null : await verdictOf(client, judged.job_id);
    programs.push({ verdict, problem: problem ?? (judged === null ? status : null), jobs: jobs[at] ?? new Map() });
  }
  return { grading_id, programs };
}

async function verdictOf(client: ServiceClient, job_id: string): Promise<Verdict2> {
  const { artifacts } = await client.result(job_id);
  return JSON.parse(Buffer.from(artifacts[0]?.content_base64 ?? '', 'base64').toString());
}

/** The verdict on each test, in words; the problem if there is no verdict. */
export function wordsOf({ verdict, problem }: GradedProgram): readonly string[] {
  return verdict === null ? [`no verdict: ${problem}`] : verdict.tests.map((test) => test.verdict);
}

/** The details of the jobs whose names begin with `start`. */
export async function detailsOf(
  client: ServiceClient,
  { jobs }: GradedProgram,
  start: string,
): Promise<readonly JobDetail[]> {
  const ids = [...jobs].filter(([name]) => name.startsWith(start)).map(([, id]) => id);
  return await Promise.all(ids.map((id) => client.detail(id)));
}

/** The processor time stated in receipts, in milliseconds. */
export function processorOf(details: readonly JobDetail[]): number {
  return details.reduce((sum, { receipt }) => sum + (receipt?.resource_usage?.cpu_ms ?? 0), 0);
}
