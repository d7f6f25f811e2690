/**
 * Chooses the next job. The tenant with the fewest running or chosen jobs goes first; among equals, the tenant whose last turn is
 * longest ago. Within a tenant, the oldest job goes first. So one tenant's thousand queued jobs do not delay another tenant's
 * first job, and two tenants that both keep the queue full get equally many slots. A running job cannot be put back, so once the
 * store knows a second tenant, no tenant may hold all slots.
 */
import { sql } from 'kysely';
import { deleteBy, hasKey, insertOf, JOB, selectBy } from '../by-column.ts';
import { nodeOf, prepared } from '../prepared.ts';
import type { ChosenJob, QueueAnswer } from '../records/answers.ts';
import type { QueueChoice } from '../records/inputs.ts';
import { isMarked, type JobKey, PAIR_SLOTS, type QueuedJob } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { takeFromQueue, unclaimedJobs } from './claims.ts';
import { fairShare } from './fair-share.ts';
import { PAIR, peerOf, slotsOf } from './pairs.ts';
import { firstTenants, joinedQueue, leftQueue, startedFromQueue, waitingTenants } from './tenants.ts';

/** The largest specification that is read with the queue. A longer one is read separately, once its job has a slot. */
const shortSpecBytesMax = 64 * 1024;

const insertQueued = insertOf('queue', [...JOB, 'language', 'runtime', 'mem_mb', 'created_at', 'is_test']);
const deleteQueued = deleteBy('queue', JOB);

const selectOldest = prepared((db, { tenant, limit, tests }: { tenant: string; limit: number; tests: number }) =>
  db
    .selectFrom('queue')
    .select(['tenant', 'job_id', 'language', 'runtime', 'mem_mb', 'created_at', 'is_test'])
    .where('tenant', '=', tenant)
    .where('is_test', '<=', tests)
    .orderBy('created_at')
    .orderBy('job_id')
    .limit(limit),
);

const selectShortSpec = prepared((db, key: JobKey) =>
  db
    .selectFrom('job_specs')
    .select('requested_spec')
    .where(hasKey('job_specs', JOB, key))
    .where((row) => row(row.fn<number>('octet_length', ['requested_spec']), '<=', sql.lit(shortSpecBytesMax))),
);

const selectProgram = selectBy('jobs', JOB, ['language', 'runtime', 'created_at'], { where: { status: 'queued' } });

/** A tenant, as seen during one choice. */
interface Contender {
  readonly tenant: string;
  /** The slots that the tenant holds, including those for jobs chosen in this choice. */
  load: number;
  readonly lastTurn: number;
  /** The tenant's queued jobs that were not taken, oldest first; null until the tenant is first considered. */
  jobs: QueuedJob[] | null;
}

/** Queued jobs in the order in which they should run: tenants take turns, and each tenant's oldest jobs come first. */
export async function queuedJobs(db: StoreDatabase, choice: QueueChoice): Promise<QueueAnswer> {
  const { jobs, ...answer } = await chosenJobs(db, choice);
  return { ...answer, jobs: await Promise.all(jobs.map((job) => withSpec(db, job))) };
}

/**
 * Chooses jobs like `queuedJobs`, and claims each for this node. If another node claims a job at the same time, the choice goes
 * on without that job.
 */
export async function takeQueuedJobs(db: StoreDatabase, choice: QueueChoice): Promise<QueueAnswer> {
  const taken: ChosenJob[] = [];
  const exclude = [...choice.exclude];
  const held = new Map(choice.held);
  for (;;) {
    const limit = choice.limit - taken.reduce((sum, job) => sum + slotsOfChosen(job), 0);
    const tests = choice.tests - taken.filter(({ is_test }) => is_test === 1).length;
    const { jobs, ...answer } = await chosenJobs(db, { ...choice, exclude, held, limit, tests });
    const tried = await Promise.all(jobs.map((job) => Promise.all([takeFromQueue(db, job), withSpec(db, job)])));
    for (const [isTaken, job] of tried) {
      exclude.push(job.job_id);
      if (!isTaken) continue;
      taken.push(job);
      held.set(job.tenant, (held.get(job.tenant) ?? 0) + slotsOfChosen(job));
    }
    if (tried.every(([isTaken]) => isTaken)) return { ...answer, jobs: taken };
  }
}

function slotsOfChosen({ peer }: ChosenJob): number {
  return peer === undefined ? 1 : PAIR_SLOTS;
}

async function chosenJobs(
  db: StoreDatabase,
  choice: QueueChoice,
): Promise<Omit<QueueAnswer, 'jobs'> & { readonly jobs: readonly QueuedJob[] }> {
  const waiting = await waitingTenants(db);
  const tenants = waiting.length > 1 ? waiting.slice(0, 2).map(({ tenant }) => tenant) : await firstTenants(db);
  const loadMax = fairShare(choice, tenants);
  const contenders = waiting.map(
    ({ tenant, last_turn }): Contender => ({
      tenant,
      load: choice.held.get(tenant) ?? 0,
      lastTurn: last_turn,
      jobs: null,
    }),
  );
  const jobs: QueuedJob[] = [];
  let { tests } = choice;
  let left = choice.limit;
  while (left > 0) {
    const next = firstInTurn(contenders, loadMax);
    if (next === null) break;
    if (next.jobs === null) {
      // Whether it is the tenant's turn depends on how many slots its first job takes.
      next.jobs = await jobsOf(db, next.tenant, { ...choice, tests });
      continue;
    }
    if (tests <= 0 && next.jobs[0]?.is_test === 1) {
      next.jobs = next.jobs.filter(({ is_test }) => is_test === 0);
      continue;
    }
    const slots = slotsOf(next.jobs[0]);
    // A pair waits until two slots are free, and no later job overtakes it. A node with fewer than two slots in all still chooses
    // the pair. The pair then ends without running and states the reason.
    if (slots > left && choice.slots >= PAIR_SLOTS) break;
    const [job] = takeTurn(next);
    if (job !== undefined) jobs.push(job);
    tests -= job?.is_test ?? 0;
    left -= slots;
  }
  // If no further test may run, the loop above skips tests, so some tests may still be in the queue.
  const isEmpty = tests > 0 && contenders.every((contender) => contender.jobs?.length === 0);
  return { jobs, isEmpty, tenants };
}

async function withSpec(db: StoreDatabase, job: QueuedJob): Promise<ChosenJob> {
  if (job.runtime === PAIR) return await pairOf(db, job);
  if (isMarked(job.runtime))
    return await withSpec(db, { ...job, runtime: null, ...(await selectProgram.first(db, job)) });
  return { ...job, requested_spec: (await selectShortSpec.first(db, job))?.requested_spec ?? null };
}

/** Both jobs of a pair, read from their own rows. */
async function pairOf(db: StoreDatabase, job: QueuedJob): Promise<ChosenJob> {
  const { tenant } = job;
  const one = await withSpec(db, { ...job, ...(await selectProgram.first(db, job)) });
  const job_id = await peerOf(db, job);
  const peer = job_id === null ? null : await selectProgram.first(db, { tenant, job_id });
  if (job_id === null || peer === null) return one;
  return { ...one, peer: await withSpec(db, { ...job, job_id, ...peer }) };
}

/** A tenant's oldest jobs that the caller has not taken yet: if there are enough, at least one more than the caller can take. */
async function jobsOf(db: StoreDatabase, tenant: string, choice: QueueChoice): Promise<QueuedJob[]> {
  const { exclude, abilities } = choice;
  const asked = {
    tenant,
    limit: choice.limit + exclude.length + 1,
    tests: choice.tests > 0 ? 1 : 0,
    slots: choice.slots,
  };
  const isShared = nodeOf(db) !== null && abilities !== undefined;
  const oldest = isShared ? await unclaimedJobs(db, { ...asked, ...abilities }) : await selectOldest.all(db, asked);
  return oldest.filter(({ job_id }) => !exclude.includes(job_id));
}

/** Takes the tenant's oldest job, if there is one. The choice is not stored: only the load of the contender grows. */
function takeTurn(contender: Contender): QueuedJob[] {
  contender.load += slotsOf(contender.jobs?.[0]);
  return contender.jobs?.splice(0, 1) ?? [];
}

function firstInTurn(contenders: readonly Contender[], loadMax: number): Contender | null {
  let first: Contender | null = null;
  for (const contender of contenders) {
    if (contender.jobs?.length === 0 || contender.load >= loadMax) continue;
    // A pair needs two slots. If its tenant holds none, the pair may start even if the tenant may hold only one.
    if (contender.load > 0 && contender.load + slotsOf(contender.jobs?.[0]) > loadMax) continue;
    if (first === null || comesBefore(contender, first)) first = contender;
  }
  return first;
}

function comesBefore(one: Contender, other: Contender): boolean {
  return one.load === other.load ? one.lastTurn < other.lastTurn : one.load < other.load;
}

/** Queues a job; part of the transaction that accepts it. */
export function enqueue(db: StoreDatabase, job: QueuedJob): void {
  insertQueued.send(db, job);
  joinedQueue.send(db, job);
}

/** Removes a job from the queue because it starts; part of the transaction that starts it. */
export function startFromQueue(db: StoreDatabase, key: JobKey): void {
  deleteQueued.send(db, key);
  startedFromQueue.send(db, key);
}

/** Removes a job that never ran from the queue; part of the transaction that ends it. */
export function dequeue(db: StoreDatabase, key: JobKey): void {
  deleteQueued.send(db, key);
  leftQueue.send(db, key);
}

/** When the oldest queued job was accepted. Only the oldest job of each waiting tenant is read. */
export async function oldestQueuedAt(db: StoreDatabase): Promise<string | null> {
  const oldest: string[] = [];
  for (const { tenant } of await waitingTenants(db)) {
    oldest.push(...(await selectOldest.all(db, { tenant, limit: 1, tests: 1 })).map((job) => job.created_at));
  }
  return oldest.sort()[0] ?? null;
}
