/**
 * What it costs a node to take jobs from a queue of 100, 10,000 and 100,000, by the store's own command. The queue is
 * filled in the database: every row is a copy, under another name and time, of one that the store wrote.
 */

import { openPostgresStore } from '../../packages/server/src/store/postgres/postgres-store.ts';
import { dropSchema, newSchema } from '../../packages/server/src/store/postgres/schema.fixture.ts';
import { Session } from '../../packages/server/src/store/postgres/session.ts';
import type { QueueChoice } from '../../packages/server/src/store/records/inputs.ts';
import { admission, at, newKey } from '../../packages/server/src/store/store.fixture.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { type Measurement, median } from '../measurement.ts';

const QUEUES = [100, 10_000, 100_000] as const;
const tenants = 10;
const rounds = 200;
/** Two medians of the same thing differ by less on a quiet machine. */
const flatRatio = 1.3;
/** Jobs that one call takes. */
const together = 4;

const CHOICE: QueueChoice = {
  exclude: [],
  held: new Map(),
  limit: together,
  slots: 32,
  tenantSlots: null,
  abilities: {
    languages: ['python', 'node', 'bash'],
    packs: [],
    isolation: ['none', 'linux-shared-kernel'],
    memMbMax: 1024,
  },
};

/** The time of one call with each length of the queue, beside that with the shortest. */
export async function* claims(server: string): AsyncGenerator<Measurement> {
  const url = await newSchema(server);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => dropSchema(url));
  await using store = await openPostgresStore({ url, check: 'off', onProblem: () => {} });
  await using session = await Session.open(url, {});
  for (let tenant = 0; tenant < tenants; tenant++) await store.admit(admission(newKey(`tenant-${tenant}`)));
  let shortest = 0;
  for (const length of QUEUES) {
    await fill(session, length / tenants);
    const times = await claimTimes(store);
    const value = median(times);
    if (shortest === 0) shortest = value;
    yield {
      what: `taking ${together} jobs of ${length} queued`,
      value,
      unit: 'ms',
      baseline: { what: `of ${QUEUES[0]} queued`, value: shortest },
      spread: [Math.min(...times), Math.max(...times)],
      target: { ratio: flatRatio, is: 'at most' },
    };
  }
}

const TABLES = ['jobs', 'job_specs', 'events', 'queue'] as const;
/** Copies of each tenant's first job, later than it, until the tenant has $1 jobs. */
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

async function fill(session: Session, jobsOfTenant: number): Promise<void> {
  session.begin();
  for (const table of TABLES) session.send({ sql: copies(table), parameters: [jobsOfTenant] });
  session.send({ sql: 'update tenants set queued = $1', parameters: [jobsOfTenant] });
  await session.commit();
  // What the server would write to its disk later must not be measured.
  await session.execute({ sql: 'checkpoint', parameters: [] });
}

/** Milliseconds of each call. Between calls, what was taken leaves the queue, and as many others join it. */
async function claimTimes(store: Store): Promise<readonly number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const began = performance.now();
    const { jobs } = await store.queuedJobs(CHOICE);
    times.push(performance.now() - began);
    if (jobs.length !== together) throw new Error(`${jobs.length} jobs were taken, and not ${together}`);
    await Promise.all(
      jobs.flatMap((job) => [
        store.requestCancel({ ...job, principal: 'bench', at: at(round) }),
        store.admit(admission({ ...newKey(job.tenant), created_at: at(round) })),
      ]),
    );
  }
  return times;
}
