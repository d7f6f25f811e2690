/**
 * A fleet of many nodes on one PostgreSQL server: what each node costs the server while the fleet is idle and while it works,
 * compared with what a node costs in smaller fleets. If the ratio stays near 1, the total cost grows linearly. If the ratio grows
 * with the number of nodes, the total cost grows with the square of that number.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Session } from '../../packages/server/src/store/postgres/connection.ts';
import { dropSchema, newSchema } from '../../packages/server/src/store/postgres/schema.fixture.ts';
import { type PostgresServer, startPostgres } from '../../test/rig/postgres-server.ts';
import { type Measurement, median } from '../measurement.ts';
import { processorMsOf } from './database-counters.ts';
import type { MemberFigures, MemberOrder } from './members.ts';

const program = new URL('./members.ts', import.meta.url);
const processes = 4;
const idleSeconds = 10;
const workSeconds = 20;
/** How many seconds pass between two jobs that a node queues. */
const jobSeconds = 10;
/** The sizes of the fleets, as fractions of the requested number of nodes. */
const parts = [1 / 8, 1 / 4, 1 / 2, 1];

/** What the server did for one node per second. */
type Counts = Readonly<Record<'rows' | 'messages' | 'processorMs', number>>;

interface Width {
  readonly nodes: number;
  /** `idle` is counted while nothing happens, and `busy` while all nodes work. */
  readonly idle: Counts;
  readonly busy: Counts;
  readonly messagesOfJob: number;
  readonly looksOfJob: number;
  readonly connections: number;
  readonly ends: readonly number[];
  readonly failed: number;
}

export async function* wide(nodesMax: number): AsyncGenerator<Measurement> {
  const widths: Width[] = [];
  for (const part of parts) {
    const nodes = Math.max(processes, Math.round(nodesMax * part));
    widths.push(await measured(nodes));
    yield* beside(widths.at(-1) as Width, widths[0] as Width);
  }
}

function* beside(width: Width, first: Width): Generator<Measurement> {
  const { nodes } = width;
  const one = (what: string, unit: Measurement['unit'], of: (width: Width) => number): Measurement => ({
    what: `${nodes} nodes: ${what}`,
    value: of(width),
    unit,
    baseline: { what: `with ${first.nodes}`, value: of(first) },
  });
  yield one('rows read, a node and second, idle', '', ({ idle }) => idle.rows);
  yield one('messages, a node and second, idle', '', ({ idle }) => idle.messages);
  yield one('database, a node and second, idle', 'ms', ({ idle }) => idle.processorMs);
  yield one('rows read, a node and second, busy', '', ({ busy }) => busy.rows);
  yield one('messages, a node and second, busy', '', ({ busy }) => busy.messages);
  yield one('database, a node and second, busy', 'ms', ({ busy }) => busy.processorMs);
  yield one('messages, a job', '', ({ messagesOfJob }) => messagesOfJob);
  yield one('looks at the queue, a job', '', ({ looksOfJob }) => looksOfJob);
  yield { ...one('connections, a node', '', ({ connections }) => connections), valueMax: 3 };
  if (width.ends.length > 0) yield one('from queued to known as ended', 'ms', ({ ends }) => median(ends));
  yield { ...one('jobs whose end was not learned', '', ({ failed }) => failed), valueMax: 0 };
}

async function measured(nodes: number): Promise<Width> {
  const more = { max_connections: String(8 * nodes + 50), superuser_reserved_connections: '3' };
  await using server = await startPostgres(more);
  const url = await newSchema(server.url);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => dropSchema(url).catch(() => {}));
  const all = Array.from({ length: processes }, () => stack.use(new Members()));
  const shares = all.map((_, at) => Math.floor(((at + 1) * nodes) / processes) - Math.floor((at * nodes) / processes));
  // The first process makes the tables.
  for (const [at, share] of shares.entries()) {
    await all[at]?.order({ kind: 'join', url, nodes: share, of: nodes });
  }
  const figures = () => Promise.all(all.map((members) => members.order({ kind: 'figures' })));
  while ((await figures()).some(({ known }) => known < nodes)) await sleep(200);
  // Some beats began while nodes were still joining. Waits until they have ended and their statistics are reported.
  await sleep(5000);
  const count = async () => ({ at: performance.now(), ...sumOf(await figures()), ...(await databaseOf(server, url)) });
  const start = await count();
  await sleep(idleSeconds * 1000);
  const idle = await count();
  await Promise.all(all.map((members) => members.order({ kind: 'work', seconds: workSeconds, jobSeconds })));
  const busy = await count();
  const jobs = busy.ends.length + busy.failed;
  return {
    nodes,
    idle: perNodeSecond(start, idle, nodes),
    busy: perNodeSecond(idle, busy, nodes),
    messagesOfJob: (busy.messages - idle.messages) / jobs,
    looksOfJob: (busy.looks - idle.looks) / jobs,
    connections: busy.connections / nodes,
    ends: busy.ends,
    failed: busy.failed,
  };
}

function perNodeSecond(before: Counts & { at: number }, after: Counts & { at: number }, nodes: number): Counts {
  const seconds = (after.at - before.at) / 1000;
  const of = (name: keyof Counts) => (after[name] - before[name]) / seconds / nodes;
  return { rows: of('rows'), messages: of('messages'), processorMs: of('processorMs') };
}

function sumOf(all: readonly MemberFigures[]) {
  const sum = (of: (figures: MemberFigures) => number) => all.reduce((total, figures) => total + of(figures), 0);
  return {
    messages: sum(({ messages }) => messages),
    looks: sum(({ looks }) => looks),
    ends: all.flatMap(({ ends }) => ends),
    failed: sum(({ failed }) => failed),
  };
}

/** Selects how many rows of the service's tables the server read, with or without an index. */
const QUERY = `select
  (select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) from pg_stat_user_tables)::bigint as rows,
  (select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()) as connections`;

async function databaseOf({ pid }: PostgresServer, url: string) {
  const processorMs = processorMsOf(pid);
  await using session = await Session.open(url, {});
  const { rows } = await session.execute<{ rows: number; connections: number }>({ sql: QUERY, parameters: [] });
  return { processorMs, rows: rows[0]?.rows ?? 0, connections: rows[0]?.connections ?? 0 };
}

/** A process with nodes. Disposing ends it. */
class Members implements AsyncDisposable {
  readonly #child = fork(program);

  async order(order: MemberOrder): Promise<MemberFigures> {
    this.#child.send(order);
    const [answer] = (await once(this.#child, 'message')) as [{ answer: MemberFigures } | { error: string }];
    if ('error' in answer) throw new Error(`the nodes failed: ${answer.error}`);
    return answer.answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}
