/** Gradings of the scenarios' programs, made by the TypeScript client. */
import type { Crossing } from '../crossing.ts';
import type { Seen } from '../facts.ts';

/** The file in which the judge leaves its verdict. */
const VERDICT = 'output/verdict.json';

/** Grades the program by the tests of the scenario, and returns the id of the job that judged. */
export async function gradeByClient({ client, scenario }: Crossing): Promise<string> {
  const { program, tests = [] } = scenario;
  return (await client.grade(program, { tests })).job_id;
}

/** The verdict of each test, from what is seen of the job that judged. */
export function verdictsOf({ files = {} }: Seen): Seen {
  const text = files[VERDICT];
  if (text === undefined) throw new Error(`the job that judged did not leave ${VERDICT}`);
  return verdictsIn(text);
}

/** Reads verdicts from the text of a verdict file. */
export function verdictsIn(text: string): Seen {
  const { tests } = JSON.parse(text) as { readonly tests: readonly { readonly verdict: string }[] };
  return { verdicts: tests.map(({ verdict }) => verdict) };
}
