/**
 * Runs several nodes and a PostgreSQL server on loopback, under load, and causes one failure after another. Then it audits
 * every promise. The kinds and times of the failures come from a seed.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceFailure } from '@vouchbox/client';
import { Session } from '../../packages/server/src/store/postgres/connection.ts';
import { leaseSeconds } from '../../packages/server/src/store/postgres/lease.ts';
import { newSchema } from '../../packages/server/src/store/postgres/schema.fixture.ts';
import { StoreError } from '../../packages/server/src/store/store-error.ts';
import { type Audit, auditJobs, runProblems } from '../crash/audit.ts';
import { SmallDisk } from '../crash/small-disk.ts';
import { Witness } from '../crash/witness.ts';
import { crashClient, seeded, Workload } from '../crash/workload.ts';
import { startPostgres } from '../rig/postgres-server.ts';
import { FleetNode } from './fleet-node.ts';
import { Followers } from './followers.ts';
import { type DatabaseOnDisk, fillDatabase, fillNode, isClear } from './full-disks.ts';

export const FAILURES = [
  'kill',
  'pause',
  'cut',
  'restart database',
  'restart at once',
  "fill a node's disk",
  "fill the database's disk",
] as const;
export type Failure = (typeof FAILURES)[number];

export interface FleetRunOptions {
  readonly nodes: number;
  readonly seed: number;
  /** For how long the run causes failures, in milliseconds. */
  readonly milliseconds: number;
  /** The largest number of jobs to submit. After the last job, the run causes no more failures. */
  readonly jobsMax: number;
  readonly clients: number;
  /** How far the last node's clock is ahead. */
  readonly clockShiftMilliseconds?: number;
  readonly onFailure?: (failure: Failure) => void;
  /** Called after a failure, with the time until none of the failed node's jobs was left running. */
  readonly onRecovery?: (seconds: number) => void;
}

export interface FleetRun extends Audit {
  readonly failures: readonly Failure[];
  readonly lostAnswers: number;
  /** How often submissions got each refusal, or no answer. */
  readonly refusals: Readonly<Record<string, number>>;
  /** How many programs the witness saw begin. */
  readonly ran: number;
  /** How many programs the witness saw begin more than once. */
  readonly ranTwice: number;
  readonly followed: number;
  readonly resumed: number;
  /** The longest time from when a node was killed or paused until none of its jobs was left running. */
  readonly recoverySeconds: number;
  readonly leftovers: readonly string[];
}

/** How long a node is paused or cut off. This time is longer than the node's lease. */
const awayMilliseconds = 9000;
const pauseMilliseconds = 1500;
/** How long a client waits after a refusal. */
const refusedMilliseconds = 500;

/** Keeps the write-ahead log small. Its files are reused, so a full disk matters only when the log needs a new file. */
const LOG = { max_wal_size: '64MB', min_wal_size: '32MB' };
const databaseMebibytes = 2048;

export async function runFleet(options: FleetRunOptions): Promise<FleetRun> {
  await using disk = await SmallDisk.mount(databaseMebibytes);
  await using server = await startPostgres(LOG, disk);
  await using witness = await Witness.open();
  await using nodes = new AsyncDisposableStack();
  const databaseUrl = await newSchema(server.url);
  const fleet = await startNodes(options, databaseUrl, nodes);
  const random = seeded(options.seed);
  const anyUrl = () =>
    pick(
      fleet.filter(({ url }) => url !== null),
      random,
    )?.url ?? null;
  const followers = new Followers(anyUrl);
  const workload = new Workload(random, witness);
  const load = new Load({ workload, followers, anyUrl, random, jobsMax: options.jobsMax });
  const clients = Array.from({ length: options.clients }, () => load.submit());
  const database = { server, disk, mebibytes: databaseMebibytes };
  const trouble = new Trouble({ ...options, fleet, database, databaseUrl, random, workload });
  const failures = await trouble.make(options);
  load.stop();
  await Promise.all(clients);
  for (const node of fleet) if (node.url === null) await node.start();
  const url = fleet[0]?.url ?? '';
  const lostAnswers = workload.promises.filter(({ job_id }) => job_id === null).length;
  await workload.settle(url);
  const audit = await auditJobs(url, workload.promises).catch((cause: unknown) => {
    const said = fleet.map((node, at) => `node ${at + 1}: ${node.said}`).join('\n');
    throw new Error(`the audit found no answer. The nodes said:\n${said}`, { cause });
  });
  const runs = await witness.runs();
  const problems = [...audit.problems, ...(await runProblems(url, workload.promises, runs))];
  // Every job has ended, so all followers' streams have ended too.
  problems.push(...(await followers.problems(url)), ...trouble.problems, ...load.problems);
  const leftovers = (await Promise.all(fleet.map((node) => node.stop()))).flat();
  const { recoverySeconds } = trouble;
  const { refusals } = load;
  const ran = { ran: runs.size, ranTwice: [...runs.values()].filter((count) => count > 1).length };
  return {
    ...audit,
    problems,
    failures,
    lostAnswers,
    refusals,
    ...ran,
    ...followers.counts,
    recoverySeconds,
    leftovers,
  };
}

async function startNodes(
  { nodes, clockShiftMilliseconds = 0 }: FleetRunOptions,
  databaseUrl: string,
  stack: AsyncDisposableStack,
): Promise<FleetNode[]> {
  const first = stack.use(await FleetNode.start({ databaseUrl }));
  const others: FleetNode[] = [];
  for (let at = 1; at < nodes; at++) {
    const shift = at === nodes - 1 ? clockShiftMilliseconds : 0;
    others.push(stack.use(await FleetNode.start({ databaseUrl, signsLike: first, clockShiftMilliseconds: shift })));
  }
  return [first, ...others];
}

function pick<Value>(values: readonly Value[], random: () => number): Value | null {
  return values[Math.floor(random() * values.length)] ?? null;
}

interface LoadOptions {
  readonly workload: Workload;
  readonly followers: Followers;
  readonly anyUrl: () => string | null;
  readonly random: () => number;
  readonly jobsMax: number;
}

const followedShare = 0.2;
/**
 * After a failure, each follower requests a new ticket, and each stream reads the store now and then. If the queue only
 * grew, three nodes could not serve all followers. So clients submit nothing while there are this many followers.
 */
const followedAtOnceMax = 40;
/** The share of jobs that write for some seconds, so that failures come in the middle of their streams. All are followed. */
const slowShare = 0.03;

/** Clients that submit to any node, and continue at another node if a node does not answer. */
class Load {
  readonly #options: LoadOptions;
  /** Refusals on which a caller cannot act. */
  readonly problems: string[] = [];
  /** How often each answer came instead of a new job. */
  readonly refusals: Record<string, number> = {};
  #isOver = false;

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  stop(): void {
    this.#isOver = true;
  }

  async submit(): Promise<void> {
    const { workload, followers, anyUrl, random, jobsMax } = this.#options;
    while (!this.#isOver && workload.promises.length < jobsMax) {
      const url = anyUrl();
      if (url === null || followers.underWay >= followedAtOnceMax) {
        await delay(100);
        continue;
      }
      try {
        const isSlow = random() < slowShare;
        const { job_id } = await workload.submitOne(crashClient(url), { isSlow });
        if (job_id !== null && (isSlow || random() < followedShare)) followers.follow(job_id);
      } catch (error) {
        const refusal = error instanceof ServiceFailure ? `${error.status} ${error.code}` : 'no answer';
        this.refusals[refusal] = (this.refusals[refusal] ?? 0) + 1;
        if (!isClear(error)) this.problems.push(`a submission failed: ${String(error)}`);
        await delay(refusedMilliseconds);
      }
    }
  }
}

interface TroubleOptions extends Pick<FleetRunOptions, 'onRecovery' | 'jobsMax'> {
  readonly fleet: readonly FleetNode[];
  readonly database: DatabaseOnDisk;
  readonly workload: Workload;
  readonly databaseUrl: string;
  readonly random: () => number;
}

/** Causes one failure after another. After each, waits until the fleet is whole again. */
class Trouble {
  readonly #options: TroubleOptions;
  readonly problems: string[] = [];
  #recoveryMilliseconds = 0;
  #databaseBackAt = Number.NEGATIVE_INFINITY;

  constructor(options: TroubleOptions) {
    this.#options = options;
  }

  get recoverySeconds(): number {
    return Math.round(this.#recoveryMilliseconds / 100) / 10;
  }

  async make({ milliseconds, onFailure }: FleetRunOptions): Promise<readonly Failure[]> {
    const { random, workload, jobsMax } = this.#options;
    const made: Failure[] = [];
    const until = performance.now() + milliseconds;
    const isTime = () => performance.now() < until && workload.promises.length < jobsMax;
    while (isTime()) {
      await delay(pauseMilliseconds * (0.5 + random()));
      const failure = pick(FAILURES, random) ?? 'kill';
      onFailure?.(failure);
      await this.#makeOne(failure);
      made.push(failure);
    }
    return made;
  }

  async #makeOne(failure: Failure): Promise<void> {
    const { fleet, database, random, workload } = this.#options;
    const { server } = database;
    const node = pick(fleet, random);
    if (node === null) return;
    switch (failure) {
      case 'kill':
        await node.kill();
        await this.#recovered();
        return await node.start();
      case 'restart at once':
        await node.kill();
        return await node.start();
      case 'pause':
        node.signal('SIGSTOP');
        await this.#recovered();
        await delay(awayMilliseconds * random());
        node.signal('SIGCONT');
        return await this.#ended(node);
      case 'cut':
        node.database.cut();
        await this.#recovered();
        node.database.restore();
        return await this.#ended(node);
      case 'restart database':
        await server.kill();
        await delay(awayMilliseconds * random());
        await server.start();
        this.#databaseBackAt = performance.now();
        return;
      case "fill a node's disk":
        this.problems.push(...(await fillNode(node, workload, awayMilliseconds * random())));
        return;
      case "fill the database's disk":
        this.problems.push(...(await fillDatabase(database, { node, workload })));
        this.#databaseBackAt = performance.now();
        return;
    }
  }

  /** Waits until a node that was declared dead by the other nodes has ended by itself, and starts this node again. */
  async #ended(node: FleetNode): Promise<void> {
    const code = await node.exited();
    if (code !== 1) this.problems.push(`a node that was taken for dead ended with ${code}:\n${node.said}`);
    await node.start();
  }

  /**
   * Waits until one node is gone and none of its jobs is left running. After the database was restarted, a node counts as
   * dead only if it has not come back within the time of a lease.
   */
  async #recovered(): Promise<void> {
    const { fleet, databaseUrl } = this.#options;
    const began = Math.max(performance.now(), this.#databaseBackAt + leaseSeconds * 1000);
    await using session = await opened(databaseUrl);
    const sql = `select (select count(*) from nodes)::int as nodes,
      (select count(*) from claims where node not in (select node from nodes))::int as orphans`;
    for (;;) {
      const { rows } = await session.execute<{ nodes: number; orphans: number }>({ sql, parameters: [] });
      const [found] = rows;
      if (found !== undefined && found.nodes < fleet.length && found.orphans === 0) break;
      await delay(50);
    }
    const took = performance.now() - began;
    this.#options.onRecovery?.(took / 1000);
    this.#recoveryMilliseconds = Math.max(this.#recoveryMilliseconds, took);
  }
}

/** Opens a session. Tries again while the database does not answer, because a busy machine may be late. */
async function opened(databaseUrl: string): Promise<Session> {
  for (;;) {
    const session = await Session.open(databaseUrl, {}).catch((error: unknown) => {
      if (error instanceof StoreError && error.code === 'unreachable') return null;
      throw error;
    });
    if (session !== null) return session;
  }
}
