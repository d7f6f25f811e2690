/** Grades scenarios' programs with the TypeScript client, or a problem package with the command. */
import type { GradingItem } from '@vouchbox/protocol';
import type { Crossing } from '../crossing.ts';
import type { Seen } from '../facts.ts';
import { gradePackage } from './grade-package.ts';

/** The file in which the judge leaves its verdict. */
const VERDICT = 'output/verdict.json';

/** Grades the program with the scenario's tests, and returns the id of the judge job. */
export async function gradeByClient(crossing: Crossing): Promise<string> {
  const { client, scenario } = crossing;
  const { program, tests = [], interactor } = scenario;
  if (scenario.problem !== undefined) {
    await gradePackage(crossing);
    const { graded } = await client.grading(await newestGrading(crossing));
    return graded[0]?.verdict?.job_id ?? '';
  }
  return (await client.grade(program, { tests, interactor })).job_id;
}

/** Each test's verdict, from the facts about the judge job. */
export function verdictsOf({ files = {} }: Seen): Seen {
  const text = files[VERDICT];
  if (text === undefined) throw new Error(`the job that judged did not leave ${VERDICT}`);
  return verdictsIn(text);
}

/** Reads the verdicts in the text of a verdict file. */
export function verdictsIn(text: string): Seen {
  const { tests } = JSON.parse(text) as { readonly tests: readonly { readonly verdict: string }[] };
  return { verdicts: tests.map(({ verdict }) => verdict) };
}

async function newestGrading({ otherClient }: Crossing): Promise<string> {
  return (await otherClient.gradings({ limit: 1 })).items[0]?.grading_id ?? '';
}

export function gradingWords({
  status,
  runs,
  runs_ended,
}: Pick<GradingItem, 'status' | 'runs' | 'runs_ended'>): string {
  return `${status}, ${runs_ended} of ${runs} runs`;
}

/** The state of the cell's newest grading, from the node where this service's jobs are read. */
export async function gradingOf(crossing: Crossing): Promise<string> {
  return gradingWords(await crossing.otherClient.grading(await newestGrading(crossing)));
}
