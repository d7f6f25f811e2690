/**
 * A rolling upgrade: two nodes of this version and one node of the next version share a store. The newer node is killed in
 * the middle of its upgrade, and the older nodes are stopped one by one. Callers submit jobs all the time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Session } from '../../packages/server/src/store/postgres/connection.ts';
import { NEXT_STEPS } from '../../packages/server/src/store/postgres/migrations/next-version.fixture.ts';
import { rangeOf, STEPS } from '../../packages/server/src/store/postgres/migrations/steps.ts';
import { backfillRowsMax } from '../../packages/server/src/store/postgres/migrations/take-step.ts';
import { type Audit, auditJobs, runProblems } from '../crash/audit.ts';
import { Witness } from '../crash/witness.ts';
import { crashClient, seeded, Workload } from '../crash/workload.ts';
import { FleetNode, type FleetNodeOptions } from './fleet-node.ts';

/** How many old rows there are besides the callers' jobs. The backfill reads them in several transactions. */
const oldRows = 4 * backfillRowsMax;
/** The row whose lock stops the backfill for a while, in the backfill's third transaction. */
const heldRow = 2 * backfillRowsMax + 1;

const pauseMilliseconds = 20;
const clients = 3;
/** How many jobs a client submits before it waits for one of them. */
const burst = 4;

export interface RollingUpgrade extends Audit {
  /** The schema's version while the last older node still ran, and after that node was gone. */
  readonly versions: readonly [beside: number, after: number];
  /** How many rows had been moved when the node was killed, and how many of those the backfill read again afterwards. */
  readonly movedBeforeKill: number;
  readonly lookedAtAgain: number;
  /** How many claims a node left when it was stopped. */
  readonly claimsLeft: number;
  /** How many rows still had the old form at the end. */
  readonly unfilled: number;
  readonly leftovers: readonly string[];
}

/** The faults in an upgrade, not counting broken promises about jobs. */
export function upgradeProblems(run: RollingUpgrade): string[] {
  const expected: [what: string, was: number, is: number][] = [
    ['jobs attested', run.attested, run.jobs],
    // The old form stays until the last node that needs it is gone.
    ['schema beside the last older node', run.versions[0], rangeOf(STEPS).knows + 1],
    ['schema after it', run.versions[1], rangeOf(NEXT_STEPS).knows],
    // A node that was killed in the middle continues where it stopped, and no row keeps the old form.
    ['rows moved before the kill', run.movedBeforeKill, 2 * backfillRowsMax],
    ['rows looked at again', run.lookedAtAgain, 0],
    ['rows in the old form', run.unfilled, 0],
    ['claims left', run.claimsLeft, 0],
  ];
  const wrong = expected.filter(([, was, is]) => was !== is);
  return [...run.problems, ...wrong.map(([what, was, is]) => `${what}: ${was} in place of ${is}`)];
}

/** @param options `databaseUrl` must name an empty schema */
export async function runRollingUpgrade(
  options: Pick<FleetNodeOptions, 'databaseUrl' | 'provider'>,
): Promise<RollingUpgrade> {
  await using witness = await Witness.open();
  await using nodes = new AsyncDisposableStack();
  const first = nodes.use(await FleetNode.start(options));
  const second = nodes.use(await FleetNode.start({ ...options, signsLike: first }));
  const store = nodes.use(await WatchedStore.open(options.databaseUrl));
  await store.addOldRows();
  const next = nodes.use(await FleetNode.make({ ...options, signsLike: first, version: 'next' }));
  using load = new Load(new Workload(seeded(20261123), witness), () => [first, second, next]);
  const submitting = load.run();

  const { moved, again } = await killInTheMiddle(next, store);
  const leftovers = [await first.stop()];
  const claimsLeft = await store.number(orphans);
  const beside = await store.number(version);
  leftovers.push(await second.stop());
  while ((await store.number(version)) < rangeOf(NEXT_STEPS).knows) await delay(pauseMilliseconds);
  load[Symbol.dispose]();
  await submitting;

  const { url } = next;
  await load.workload.settle(url ?? '');
  const { promises } = load.workload;
  const audit = await auditJobs(url ?? '', promises);
  const problems = [...audit.problems, ...(await runProblems(url ?? '', promises, await witness.runs()))];
  const after = await store.number(version);
  const unfilled = await store.number(unfilledOld);
  leftovers.push(await next.stop());
  return {
    ...audit,
    problems,
    versions: [beside, after],
    movedBeforeKill: moved,
    lookedAtAgain: again,
    claimsLeft,
    unfilled,
    leftovers: leftovers.flat(),
  };
}

/** Kills the newer node after it has moved a part of the rows, and starts it again. Returns once all rows are moved. */
async function killInTheMiddle(next: FleetNode, store: WatchedStore): Promise<{ moved: number; again: number }> {
  const begin = await store.hold('lock table backfills in share mode');
  await next.start();
  const row = `tenant = '${OLD}' and job_id = '${idOf(heldRow)}'`;
  const release = await store.hold(`select 1 from jobs where ${row} for update`);
  await begin();
  while ((await store.number(rowsMoved)) < heldRow - 1) await delay(pauseMilliseconds);
  await next.kill();
  const moved = await store.number(rowsMoved);
  // If the restarted node began from the first row, it would fill these rows again.
  await store.run(`update jobs set outcome = null where tenant = '${OLD}' and job_id < '${idOf(heldRow)}'`);
  await release();
  await next.start();
  while ((await store.number(rowsMoved)) < oldRows) await delay(pauseMilliseconds);
  const again = heldRow - 1 - (await store.number(`${unfilledOld} and job_id < '${idOf(heldRow)}'`));
  return { moved, again };
}

/** The tenant of the old rows. In the backfill's order, these rows come before the callers' jobs. */
const OLD = 'a-tenant-of-long-ago';
const idOf = (row: number) => `job_${String(row).padStart(6, '0')}`;

const version = 'select version as number from schema_state';
const rowsMoved = `select coalesce((select rows_done from backfills), 0)::int as number`;
const unfilledOld = `select count(*)::int as number from jobs where tenant = '${OLD}' and outcome is null`;
const orphans = `select count(*)::int as number from claims where node not in (select node from nodes)`;

/** Reads and changes the store as an operator can. */
class WatchedStore implements AsyncDisposable {
  readonly #url: string;
  readonly #session: Session;

  private constructor(url: string, session: Session) {
    this.#url = url;
    this.#session = session;
  }

  static async open(url: string): Promise<WatchedStore> {
    return new WatchedStore(url, await Session.open(url, {}));
  }

  async run(sql: string): Promise<void> {
    await this.#session.execute({ sql, parameters: [] });
  }

  async number(sql: string): Promise<number> {
    const { rows } = await this.#session.execute<{ number: number }>({ sql, parameters: [] });
    return rows[0]?.number ?? 0;
  }

  /** Adds rows for jobs that ended long ago. */
  async addOldRows(): Promise<void> {
    await this.run(`insert into jobs (tenant, job_id, status, language, created_at, finished_at, cancellation_requested,
        truncated, chain_seq, chain_head)
      select '${OLD}', 'job_' || lpad(at::text, 6, '0'), 'succeeded', 'bash', '2020', '2020', 0, 0, 1, 'head'
      from generate_series(1, ${oldRows}) as at`);
  }

  /** Holds the locks that a statement takes until the returned function is called. */
  async hold(sql: string): Promise<() => Promise<void>> {
    const holder = await Session.open(this.#url, {});
    holder.begin();
    await holder.execute({ sql, parameters: [] });
    return async () => {
      await holder.commit();
      await holder[Symbol.asyncDispose]();
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session[Symbol.asyncDispose]();
  }
}

/** Callers that submit to any node that listens, and wait for some of their jobs so that the queue stays short. */
class Load implements Disposable {
  readonly workload: Workload;
  readonly #nodes: () => readonly FleetNode[];
  #isOver = false;
  #asked = 0;

  constructor(workload: Workload, nodes: () => readonly FleetNode[]) {
    this.workload = workload;
    this.#nodes = nodes;
  }

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: clients }, () => this.#submit()));
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
  }

  /** Submits a job. If a node refuses or does not answer, because it stops or was killed, tries the next node. */
  async #submit(): Promise<void> {
    for (let count = 1; !this.#isOver; count++) {
      const urls = this.#nodes().flatMap(({ url }) => url ?? []);
      const url = urls[this.#asked++ % urls.length];
      try {
        if (url === undefined) throw new Error('no node listens');
        const client = crashClient(url);
        const { job_id } = await this.workload.submitOne(client);
        if (job_id !== null && count % burst === 0) await client.waitForResult(job_id);
      } catch {
        await delay(pauseMilliseconds);
      }
    }
  }
}
