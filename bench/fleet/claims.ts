/**
 * What it costs a node to take jobs from queues of 100, 10,000 and 100,000 jobs. The node's writing session claims them in one
 * transaction, with the store's own command. To fill a queue, rows that the store wrote are copied within the database under
 * other names and times. The queues take turns, so that other work on the machine affects all of them alike.
 */

import { requestCancel } from '../../packages/server/src/store/evidence/cancellation.ts';
import { admit } from '../../packages/server/src/store/jobs/admission.ts';
import { takeQueuedJobs } from '../../packages/server/src/store/jobs/queue.ts';
import { Session } from '../../packages/server/src/store/postgres/connection.ts';
import { dropSchema, newSchema } from '../../packages/server/src/store/postgres/schema.fixture.ts';
import { WritingSession } from '../../packages/server/src/store/postgres/writing-session.ts';
import type { ChosenJob } from '../../packages/server/src/store/records/answers.ts';
import type { QueueChoice } from '../../packages/server/src/store/records/inputs.ts';
import { admission, at, newKey } from '../../packages/server/src/store/store.fixture.ts';
import { type Measurement, median } from '../measurement.ts';

const QUEUES = [100, 10_000, 100_000] as const;
const tenants = 10;
const rounds = 200;
/** The first rounds fill caches and do not count. */
const warmUpRounds = 20;
/** The largest allowed ratio between two medians. On a quiet machine, two medians for the same work differ by less. */
const flatRatio = 1.3;
/** How many jobs one call takes. */
const together = 4;

const CHOICE: QueueChoice = {
  exclude: [],
  held: new Map(),
  limit: together,
  tests: together,
  slots: 32,
  tenantSlots: null,
  abilities: {
    languages: ['python', 'node', 'bash'],
    packs: [],
    isolation: ['none', 'linux-shared-kernel'],
    memMbMax: 1024,
  },
};

/** Measures how long one claim takes for each length of the queue, compared with the shortest queue. */
export async function* claims(server: string): AsyncGenerator<Measurement> {
  await using stack = new AsyncDisposableStack();
  const queues: Queue[] = [];
  for (const length of QUEUES) {
    const url = await newSchema(server);
    stack.defer(() => dropSchema(url));
    queues.push(stack.use(await Queue.open(url, length)));
  }
  for (let round = 0; round < warmUpRounds + rounds; round++) {
    if (round === warmUpRounds) await checkpoint(server);
    for (const queue of queues) await queue.turn(round);
  }
  const medians = queues.map(({ times }) => median(times.slice(warmUpRounds)));
  for (const [index, { length, times }] of queues.entries()) {
    const counted = times.slice(warmUpRounds);
    yield {
      what: `taking ${together} jobs of ${length} queued`,
      value: medians[index] ?? Number.NaN,
      unit: 'ms',
      baseline: { what: `of ${QUEUES[0]} queued`, value: medians[0] ?? Number.NaN },
      spread: [Math.min(...counted), Math.max(...counted)],
      target: { ratio: flatRatio, is: 'at most' },
    };
  }
}

/** Makes the server write to its disk now, so that it does not do so during the measurement. */
async function checkpoint(server: string): Promise<void> {
  await using session = await Session.open(server, {});
  await session.execute({ sql: 'checkpoint', parameters: [] });
}

/** A store whose queue keeps its length, and a node on this store. */
class Queue implements AsyncDisposable {
  readonly length: number;
  /** How long each claim took, in milliseconds. */
  readonly times: number[] = [];
  readonly #writing: WritingSession;

  private constructor(length: number, writing: WritingSession) {
    this.length = length;
    this.#writing = writing;
  }

  static async open(url: string, length: number): Promise<Queue> {
    const queue = new Queue(length, await WritingSession.open(url, {}));
    const names = Array.from({ length: tenants }, (_, tenant) => `tenant-${tenant}`);
    await queue.#change(names, async ({ db }) => {
      for (const name of names) await admit(db, admission(newKey(name)));
    });
    await fill(url, length / tenants);
    return queue;
  }

  /** Makes one claim. Afterwards, the claimed jobs leave the queue, and as many new jobs join it. */
  async turn(round: number): Promise<void> {
    const began = performance.now();
    const { jobs } = await this.#change([], ({ db }) => takeQueuedJobs(db, CHOICE));
    this.times.push(performance.now() - began);
    if (jobs.length !== together) throw new Error(`${jobs.length} jobs were taken, and not ${together}`);
    const names = [...new Set(jobs.map(({ tenant }) => tenant))];
    await this.#change(names, (session) => replace(session, jobs, round));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing[Symbol.asyncDispose]();
  }

  /** Runs a command in a transaction, as a node does. */
  async #change<Answer>(names: readonly string[], command: (session: Session) => Promise<Answer>): Promise<Answer> {
    const session = await this.#writing.current();
    const begun = this.#writing.begin(session, names);
    const answer = await command(session);
    if ((await begun) === null) throw new Error('the node has no row');
    await session.commit();
    return answer;
  }
}

async function replace({ db }: Session, jobs: readonly ChosenJob[], round: number): Promise<void> {
  for (const { tenant, job_id } of jobs) {
    await requestCancel(db, { tenant, job_id, principal: 'bench', at: at(round) });
    await admit(db, admission({ ...newKey(tenant), created_at: at(round) }));
  }
}

const TABLES = ['jobs', 'job_specs', 'events', 'queue'] as const;
/** Copies each tenant's first job, with later times, until the tenant has $1 jobs. */
const copies = (table: string) => `
  insert into ${table}
  select copy.* from ${table} as row
  join (select tenant, min(job_id) as job_id from queue group by tenant) as first using (tenant, job_id)
  join tenants using (tenant)
  cross join lateral generate_series(tenants.queued + 1, $1::int) as number
  cross join lateral jsonb_populate_record(row, jsonb_build_object(
    'job_id', row.job_id || '-' || lpad(number::text, 9, '0'),
    'created_at', to_jsonb(row) ->> 'created_at'
  )) as copy`;

async function fill(url: string, jobsOfTenant: number): Promise<void> {
  await using session = await Session.open(url, {});
  session.begin();
  for (const table of TABLES) session.send({ sql: copies(table), parameters: [jobsOfTenant] });
  session.send({ sql: 'update tenants set queued = $1', parameters: [jobsOfTenant] });
  await session.commit();
  // The server does this work now, so that it does not do so during the measurement.
  for (const table of [...TABLES, 'tenants']) await session.execute({ sql: `vacuum analyze ${table}`, parameters: [] });
}
