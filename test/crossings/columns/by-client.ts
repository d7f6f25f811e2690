/** Places that add nothing to a call: jobs are submitted, cancelled and read by the TypeScript client. */
import { type Caller, keyOfRepeated, playCaller } from '../caller.ts';
import type { Crossing } from '../crossing.ts';
import type { Seen } from '../facts.ts';
import { gradeByClient, verdictsOf } from './grade-by-client.ts';
import { cancelByClient, readByClient, submitByClient } from './typescript-client.ts';

/** Submits at the first node; reads and cancels at the other, if there is another. */
const caller: Caller = {
  run: async (crossing, idempotencyKey) => await readByClient(crossing, await submitByClient(crossing, idempotencyKey)),
  read: readByClient,
  cancel: cancelByClient,
  grade: async (crossing) => verdictsOf(await readByClient(crossing, await gradeByClient(crossing))),
};

export async function playByClient(crossing: Crossing): Promise<Seen> {
  return await playCaller(caller, crossing);
}

/** The newest job of the cell, read again. After a grading this is the job that judged; a repeated submission is sent again. */
export async function readAgain(crossing: Crossing): Promise<Seen> {
  const { act } = crossing.scenario;
  if (act === 'repeated') await submitByClient(crossing, keyOfRepeated(crossing));
  const jobs = await crossing.jobs();
  const seen = await readByClient(crossing, jobs[0] ?? '');
  if (act === 'graded') return verdictsOf(seen);
  return act === 'repeated' ? { ...seen, jobs: jobs.length } : seen;
}
