/** Places that only store or run jobs: the TypeScript client submits, cancels and reads the jobs. */
import { type Caller, keyOfRepeated, playCaller } from '../caller.ts';
import type { Crossing } from '../crossing.ts';
import type { Seen } from '../facts.ts';
import { readLinkAgain } from '../links.ts';
import { withReading } from '../readings.ts';
import { gradeByClient, gradingOf, verdictsOf } from './grade-by-client.ts';
import { cancelByClient, readByClient, submitByClient } from './typescript-client.ts';

/** Submits at the first node. Reads and cancels at the second node if there is one. */
const caller: Caller = {
  run: async (crossing, idempotencyKey) => await readByClient(crossing, await submitByClient(crossing, idempotencyKey)),
  read: readByClient,
  cancel: cancelByClient,
  grade: async (crossing) => await judged(crossing, await gradeByClient(crossing)),
};

/** The facts about a grading: its status, and the verdicts in the judge job's output. */
async function judged(crossing: Crossing, job_id: string): Promise<Seen> {
  return { ...verdictsOf(await readByClient(crossing, job_id)), grading: await gradingOf(crossing) };
}

export async function playByClient(crossing: Crossing): Promise<Seen> {
  return await playCaller(caller, crossing);
}

/** @throws Error if the cell has a session whose last step is not this job */
async function standsAt(crossing: Crossing, job_id: string | null): Promise<void> {
  const step = await crossing.step();
  if (step !== null && step.after !== job_id) throw new Error(`the session stands at ${step.after}, not ${job_id}`);
}

/**
 * Reads the cell's newest job again: the judge job after a grading, the program's job after a pair. If the scenario
 * repeats its submission, first sends the submission once more.
 */
export async function readAgain(crossing: Crossing): Promise<Seen> {
  const { act } = crossing.scenario;
  if (act === 'repeated') await submitByClient(crossing, keyOfRepeated(crossing));
  const jobs = await crossing.jobs();
  await standsAt(crossing, jobs[0] ?? null);
  if (act === 'graded') return await judged(crossing, jobs[0] ?? '');
  const isPair = crossing.scenario.program.interactor !== undefined;
  const seen = await readByClient(crossing, isPair ? await crossing.job() : (jobs[0] ?? ''));
  if (act === 'linked') return { ...seen, linked: await readLinkAgain(crossing, jobs[0] ?? '') };
  return act === 'repeated' ? { ...seen, jobs: jobs.length } : await withReading(crossing, seen);
}
