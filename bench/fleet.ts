/**
 * Nodes of one service on one PostgreSQL server, all on this machine: jobs per second with one, two and four nodes, and what a
 * job costs the database and the processors. One node on PostgreSQL is compared with one node on SQLite, and long queues with a
 * short queue.
 */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Session } from '../packages/server/src/store/postgres/connection.ts';
import { dropSchema, newSchema } from '../packages/server/src/store/postgres/schema.fixture.ts';
import { type PostgresServer, startPostgres } from '../test/rig/postgres-server.ts';
import { claims } from './fleet/claims.ts';
import {
  between,
  COUNTING,
  commitLatencyMs,
  type DatabaseCounters,
  databaseCounters,
  machineMs,
} from './fleet/database-counters.ts';
import { wide } from './fleet/wide.ts';
import { cpuSeconds, serveService } from './http/processes.ts';
import { type Measurement, median } from './measurement.ts';
import { driven, FLAGS, hello, type ServedCells, scratchDirectory } from './speed/bench-service.ts';
import { type JobClient, openJobClient } from './speed/job-client.ts';

const tenants = 8;
const clients = 16;
const jobs = 800;
const jobsOfRound = 200;
const roundsBesideSqlite = 9;
const NODE_COUNTS = [1, 2, 4] as const;
/** The run with this many nodes shows what a job costs: one node signs, the other does not. */
const costsOf = 2;

const KEYS = Array.from({ length: tenants }, (_, tenant) => `key-of-the-benchmark-${tenant}`);
const NODE_FLAGS = {
  ...FLAGS,
  provider: 'namespace',
  'legacy-keys': KEYS.map((key, tenant) => `tenant-${tenant}=${key}`).join(','),
};

/** What all jobs of one run used together. Processor time is in milliseconds. */
interface Run {
  readonly nodes: number;
  readonly milliseconds: number;
  readonly database: DatabaseCounters;
  /** Processor time of each node's process. The signing node comes first. */
  readonly nodesMs: readonly number[];
  readonly machineMs: number;
}

/** Measures the runs, and what a job costs the database and the processors. Given `nodes`, measures a wide fleet. */
export async function* measure({ nodes }: { readonly nodes?: number | undefined } = {}): AsyncGenerator<Measurement> {
  if (nodes !== undefined) {
    yield* wide(nodes);
    return;
  }
  yield await besideSqlite();
  await using server = await startPostgres(COUNTING);
  const runs: Run[] = [];
  for (const nodes of NODE_COUNTS) runs.push(await run(server, nodes));
  const cost = costOf(runs.find(({ nodes }) => nodes === costsOf) as Run, await commitLatencyMs(server.url));
  for (const measured of runs) yield besideOneNode(measured, runs[0] as Run);
  yield await pathOfOneJob(server);
  yield* costsInDatabase(runs);
  yield* processorTimes(cost);
  yield* claims(server.url);
}

async function run(server: PostgresServer, count: number): Promise<Run> {
  const url = await newSchema(server.url);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => dropSchema(url));
  const nodes: ServedCells[] = [];
  for (let node = 0; node < count; node++) {
    const { path } = stack.use(scratchDirectory());
    const [first] = nodes;
    const keys = 'attestation-keys';
    if (first !== undefined) cpSync(join(first.dataDirectory, keys), join(path, keys), { recursive: true });
    nodes.push(stack.use(await serveService({ ...NODE_FLAGS, 'database-url': url }, path)));
  }
  const callers = Array.from({ length: clients }, (_, index) => {
    const { port } = nodes[index % count] as ServedCells;
    return stack.use(openJobClient({ port, key: KEYS[Math.floor(index / count) % tenants] as string }));
  });
  await driven(callers, hello('python'), jobs / 2);
  return { nodes: count, ...(await observed(server, nodes, callers, url)) };
}

/** Compares one node on each kind of store. The two take turns, because a machine's speed changes during a measurement. */
async function besideSqlite(): Promise<Measurement> {
  await using server = await startPostgres();
  await using stack = new AsyncDisposableStack();
  const served = async (flags: Readonly<Record<string, string>>) => {
    const node = stack.use(await serveService({ ...NODE_FLAGS, ...flags }, stack.use(scratchDirectory()).path));
    const callers = Array.from({ length: clients }, (_, index) =>
      stack.use(openJobClient({ port: node.port, key: KEYS[index % tenants] as string })),
    );
    await driven(callers, hello('python'), jobs);
    return callers;
  };
  const sides = { postgres: await served({ 'database-url': server.url }), sqlite: await served({}) };
  const rounds: { readonly postgres: number; readonly sqlite: number }[] = [];
  const perSecond = async (callers: readonly JobClient[]) =>
    jobsOfRound / ((await driven(callers, hello('python'), jobsOfRound)) / 1000);
  while (rounds.length < roundsBesideSqlite) {
    rounds.push({ postgres: await perSecond(sides.postgres), sqlite: await perSecond(sides.sqlite) });
  }
  const onPostgres = rounds.map(({ postgres }) => postgres);
  return {
    what: '1 node on PostgreSQL, in turns with one on SQLite',
    value: median(onPostgres),
    unit: '/s',
    spread: [Math.min(...onPostgres), Math.max(...onPostgres)],
    baseline: { what: 'on SQLite', value: median(rounds.map(({ sqlite }) => sqlite)) },
    target: { ratio: 0.7, is: 'at least' },
  };
}

async function observed(
  server: PostgresServer,
  nodes: readonly ServedCells[],
  callers: readonly JobClient[],
  url: string,
): Promise<Omit<Run, 'nodes'>> {
  const before = await databaseCounters(url, server.pid);
  const nodesBefore = nodes.map(({ pid }) => cpuSeconds(pid));
  const machineBefore = machineMs();
  const milliseconds = await driven(callers, hello('python'), jobs);
  const machine = machineMs() - machineBefore;
  const nodesMs = nodes.map(({ pid }, index) => (cpuSeconds(pid) - (nodesBefore[index] ?? 0)) * 1000);
  return {
    milliseconds,
    nodesMs,
    machineMs: machine,
    database: between(before, await databaseCounters(url, server.pid)),
  };
}

/** What one job costs, in milliseconds of processor time unless a member says otherwise. */
interface JobCost {
  /** The time of the node's process on all its threads, without signing. */
  readonly nodeMs: number;
  /** The time of the cell, and of the processes that make, limit and remove it. */
  readonly cellMs: number;
  /** The time of the database's processes. */
  readonly databaseMs: number;
  /** The time of the node that signs. */
  readonly signMs: number;
  /** The time from `commit` to its answer. It is a wait, not processor time: for the database's disk and the network. */
  readonly commitLatencyMs: number;
}

/** The signing node takes more than the others: the difference is the cost of signing. */
function costOf({ nodesMs, database, machineMs: machine }: Run, latency: number): JobCost {
  const [signing = 0, ...others] = nodesMs;
  const other = others.reduce((sum, each) => sum + each, 0) / others.length;
  const all = signing + others.reduce((sum, each) => sum + each, 0);
  const signMs = Math.max(0, signing - other) / jobs;
  return {
    nodeMs: all / jobs - signMs,
    signMs,
    databaseMs: database.processorMs / jobs,
    cellMs: (machine - all - database.processorMs) / jobs,
    commitLatencyMs: latency,
  };
}

function besideOneNode({ nodes, milliseconds }: Run, one: Run): Measurement {
  return {
    what: `${nodes === 1 ? '1 node' : `${nodes} nodes`} on one machine, ${clients} clients`,
    value: jobs / (milliseconds / 1000),
    unit: '/s',
    baseline: { what: '1 node', value: jobs / (one.milliseconds / 1000) },
  };
}

/** A job that starts at once takes two commits: one when it is admitted and started, one when it ends. */
const commitsMax = 2;
const jobsAlone = 50;

/**
 * The commits that a job waits for. No other job shares them, because only one job runs at a time. Output from well before the
 * end of a program goes into an earlier commit, and nobody waits for that commit.
 */
async function pathOfOneJob(server: PostgresServer): Promise<Measurement> {
  const url = await newSchema(server.url);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => dropSchema(url));
  const { path } = stack.use(scratchDirectory());
  const node = stack.use(await serveService({ ...NODE_FLAGS, 'database-url': url }, path));
  const caller = stack.use(openJobClient({ port: node.port, key: KEYS[0] as string }));
  const session = stack.use(await Session.open(url, {}));
  await driven([caller], hello('python'), 1);
  const commits: number[] = [];
  const first = await changesWithoutSigning(session);
  for (let before = first; commits.length < jobsAlone; before = await changesWithoutSigning(session)) {
    await driven([caller], hello('python'), 1);
    commits.push((await changesOf(session)).changes - before);
  }
  const all = (await changesWithoutSigning(session)) - first;
  return {
    what: 'commits on the path of a job, one at a time',
    value: median(commits),
    unit: '',
    baseline: { what: 'the mean, with the signature', value: all / jobsAlone },
    valueMax: commitsMax,
    note: `${commits.filter((count) => count > commitsMax).length} of ${jobsAlone} jobs took more than ${commitsMax}`,
  };
}

/** The number of the latest change in a fleet of one node, and how many jobs are not signed yet. */
async function changesOf(session: Session): Promise<{ readonly changes: number; readonly unsigned: number }> {
  const { rows } = await session.execute<{ changes: number; unsigned: number }>({
    sql: `select max(number) as changes, (select count(*) from attestation_outbox) as unsigned from node_changes`,
    parameters: [],
  });
  return rows[0] ?? { changes: 0, unsigned: 0 };
}

/** Counts the changes once all jobs have their signature. */
async function changesWithoutSigning(session: Session): Promise<number> {
  for (;;) {
    const { changes, unsigned } = await changesOf(session);
    if (unsigned === 0) return changes;
    await sleep(5);
  }
}

/** What a job costs with the most nodes, compared with one node. */
function* costsInDatabase(runs: readonly Run[]): Generator<Measurement> {
  const [one, most] = [runs[0], runs.at(-1)];
  if (one === undefined || most === undefined) return;
  const figures = {
    statements: 'statements',
    writes: 'transactions that write',
    rowsInserted: 'rows inserted',
    rowsChanged: 'rows changed or removed',
    logSyncs: 'syncs of the log',
  } as const;
  const beside = (what: string, unit: Measurement['unit'], of: (run: Run) => number): Measurement => ({
    what,
    value: of(most),
    unit,
    baseline: { what: 'with 1 node', value: of(one) },
  });
  for (const [name, words] of Object.entries(figures)) {
    yield beside(`${words}, a job`, '', ({ database }) => database[name as keyof typeof figures] / jobs);
  }
  yield beside('bytes of the log, a job', 'KiB', ({ database }) => database.logBytes / jobs / 1024);
  yield beside('bytes stored, a job', 'KiB', ({ database }) => database.storedBytes / jobs / 1024);
  yield beside('connections, a node', '', ({ database, nodes }) => database.connections / nodes);
}

function* processorTimes(cost: JobCost): Generator<Measurement> {
  const all = cost.nodeMs + cost.cellMs + cost.databaseMs + cost.signMs;
  const part = (what: string, value: number): Measurement => ({
    what: `${what}, a job`,
    value,
    unit: 'ms',
    baseline: { what: 'all', value: all },
  });
  yield part('processor time of a node', cost.nodeMs);
  yield part('processor time of the cell and the client', cost.cellMs);
  yield part('processor time of the database', cost.databaseMs);
  yield part('processor time of the node that signs', cost.signMs);
  yield {
    ...part('latency of a commit', cost.commitLatencyMs),
    baseline: { what: 'a job, without waits', value: all },
  };
}
