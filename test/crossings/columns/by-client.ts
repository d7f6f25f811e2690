/** Places that add nothing to a call: jobs are submitted, cancelled and read by the TypeScript client. */
import { type Caller, keyOfRepeated, playCaller } from '../caller.ts';
import type { Crossing } from '../crossing.ts';
import type { Seen } from '../facts.ts';
import { readLinkAgain } from '../links.ts';
import { withReading } from '../readings.ts';
import { gradeByClient, gradingOf, verdictsOf } from './grade-by-client.ts';
import { cancelByClient, readByClient, submitByClient } from './typescript-client.ts';

/** Submits at the first node; reads and cancels at the other, if there is another. */
const caller: Caller = {
  run: async (crossing, idempotencyKey) => await readByClient(crossing, await submitByClient(crossing, idempotencyKey)),
  read: readByClient,
  cancel: cancelByClient,
  grade: async (crossing) => await judged(crossing, await gradeByClient(crossing)),
};

/** What is seen of a grading, from the job that judged. */
async function judged(crossing: Crossing, job_id: string): Promise<Seen> {
  return { ...verdictsOf(await readByClient(crossing, job_id)), grading: await gradingOf(crossing) };
}

export async function playByClient(crossing: Crossing): Promise<Seen> {
  return await playCaller(caller, crossing);
}

/** The session is where it was, if there is one. @throws Error if it is not */
async function standsAt(crossing: Crossing, job_id: string | null): Promise<void> {
  const step = await crossing.step();
  if (step !== null && step.after !== job_id) throw new Error(`the session stands at ${step.after}, not ${job_id}`);
}

/**
 * The newest job of the cell, read again, or the one that runs the program. After a grading this is the job that judged; a
 * repeated submission is sent again.
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
