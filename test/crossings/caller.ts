/** How a place (a column of the matrix) submits and reads jobs, and how each kind of scenario is played there. */
import type { Crossing } from './crossing.ts';
import type { Seen } from './facts.ts';
import { type Links, linksByClient, playLinks } from './links.ts';
import { type Readings, withReading } from './readings.ts';

export interface Caller {
  /** Runs the program to its end. The submission has the idempotency key if one is given. */
  readonly run: (crossing: Crossing, idempotencyKey?: string) => Promise<Seen>;
  /** Cancels a running job in this place's own way. */
  readonly cancel?: (crossing: Crossing, job_id: string) => Promise<void>;
  /** Reads a job that has ended. */
  readonly read?: (crossing: Crossing, job_id: string) => Promise<Seen>;
  /** After a crash, ends the program that this place has started again, so that the run ends. */
  readonly endAgain?: (crossing: Crossing) => Promise<void>;
  /** Grades the program with the scenario's tests. */
  readonly grade?: (crossing: Crossing) => Promise<Seen>;
  /** Makes and revokes links to results in this place's own way. Default: a client makes and revokes them. */
  readonly links?: Links;
  /** Reads in this place's own way the facts that a service shows outside the job. */
  readonly readings?: Partial<Readings>;
}

/** Plays the scenario of a crossing in this place's way. */
export async function playCaller(caller: Caller, crossing: Crossing): Promise<Seen> {
  switch (crossing.scenario.act) {
    case 'nothing':
    case 'signing_off':
      return await caller.run(crossing);
    case 'evidence':
    case 'listed':
    case 'counted':
      return await withReading(crossing, await caller.run(crossing), caller.readings);
    case 'canaried':
      await crossing.canaried();
      return await caller.run(crossing);
    case 'cancelled':
      return await cancelled(caller, crossing);
    case 'crash':
      return await crashed(caller, crossing);
    case 'key_rotated':
      return await rotated(caller, crossing);
    case 'graded':
      return await needed(caller.grade, 'grade')(crossing);
    case 'linked':
      return await linked(caller, crossing);
    case 'repeated':
      return await repeated(caller, crossing);
  }
}

async function cancelled(caller: Caller, crossing: Crossing): Promise<Seen> {
  const ended = caller.run(crossing);
  const job = await Promise.race([crossing.begun(), ended.then(endedEarly)]);
  await needed(caller.cancel, 'cancel')(crossing, job);
  return await ended;
}

/** The service crashes during the run, and the run may then fail. The job is read once the service is back. */
async function crashed(caller: Caller, crossing: Crossing): Promise<Seen> {
  const ended = caller.run(crossing).then(
    (seen) => () => seen,
    (error: unknown) => () => {
      throw error;
    },
  );
  const job = await Promise.race([crossing.begun(), ended.then((seen) => endedEarly(seen()))]);
  await crossing.happened();
  await caller.endAgain?.(crossing);
  const seen = await ended;
  if (caller.read === undefined) return seen();
  await crossing.ended(job);
  return await caller.read(crossing, job);
}

function endedEarly(seen: Seen): never {
  throw new Error(`the job ended before anything happened to it: ${JSON.stringify(seen).slice(0, 300)}`);
}

/** The first key signs the job. The job is read again after the key's rotation. */
async function rotated(caller: Caller, crossing: Crossing): Promise<Seen> {
  const seen = await caller.run(crossing);
  const job = await crossing.job();
  await crossing.signed(job);
  await crossing.happened();
  return caller.read === undefined ? seen : await caller.read(crossing, job);
}

/** The job is read again once it has links. */
async function linked(caller: Caller, crossing: Crossing): Promise<Seen> {
  const seen = await caller.run(crossing);
  const job = await crossing.job();
  const read = await playLinks(crossing, job, caller.links ?? linksByClient);
  return { ...seen, ...(await caller.read?.(crossing, job)), linked: read };
}

/** The idempotency key for a scenario that repeats its submission. Every repetition uses this key. */
export function keyOfRepeated({ tenant }: Crossing): string {
  return `repeated-by-${tenant}`;
}

async function repeated(caller: Caller, crossing: Crossing): Promise<Seen> {
  await caller.run(crossing, keyOfRepeated(crossing));
  const seen = await caller.run(crossing, keyOfRepeated(crossing));
  return { ...seen, jobs: (await crossing.jobs()).length };
}

function needed<Value>(method: Value | undefined, name: string): Value {
  if (method === undefined) throw new Error(`this place has no way to ${name}`);
  return method;
}
