/** What a PostgreSQL server counts about its work, and the processor time of its processes. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Session } from '../../packages/server/src/store/postgres/connection.ts';
import { cpuSeconds, processorSeconds } from '../http/processes.ts';

/** Loads the extension that counts statements. */
export const COUNTING = { shared_preload_libraries: 'pg_stat_statements' };

export interface DatabaseCounters {
  readonly statements: number;
  /** Transactions in the writing sessions. Each transaction numbers its change and is synced. */
  readonly writes: number;
  readonly rowsInserted: number;
  readonly rowsChanged: number;
  readonly logBytes: number;
  readonly logSyncs: number;
  /** The size of the tables, with their indexes and long values. */
  readonly storedBytes: number;
  readonly connections: number;
  /** Processor time of all the server's processes, in milliseconds. */
  readonly processorMs: number;
}

const QUERY = `
  select
    (select coalesce(sum(calls), 0) from pg_stat_statements) as statements,
    (select coalesce(sum(n_tup_upd), 0) from pg_stat_user_tables where relname = 'node_changes') as writes,
    (select sum(n_tup_ins) from pg_stat_user_tables) as inserted,
    (select sum(n_tup_upd + n_tup_del) from pg_stat_user_tables) as changed,
    (select wal_bytes from pg_stat_wal) as log_bytes,
    (select wal_sync from pg_stat_wal) as log_syncs,
    (select sum(pg_total_relation_size(relid)) from pg_stat_user_tables) as stored,
    (select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()) as connections`;

type Row = Readonly<
  Record<
    'statements' | 'writes' | 'inserted' | 'changed' | 'log_bytes' | 'log_syncs' | 'stored' | 'connections',
    string | number
  >
>;

/** A session reports its counts at once only if its last report is at least a second old, otherwise after ten idle seconds. */
const reportedAfterMs = 11_000;

/** Counters since the server's start. `pid` is the server's first process. */
export async function databaseCounters(url: string, pid: number): Promise<DatabaseCounters> {
  const processorMs = processorMsOf(pid);
  await sleep(reportedAfterMs);
  await using session = await Session.open(url, {});
  await session.execute({ sql: 'create extension if not exists pg_stat_statements', parameters: [] });
  const { rows } = await session.execute<Row>({ sql: QUERY, parameters: [] });
  const [row] = rows;
  if (row === undefined) throw new Error('the server gave no counters');
  return {
    statements: Number(row.statements),
    writes: Number(row.writes),
    rowsInserted: Number(row.inserted),
    rowsChanged: Number(row.changed),
    logBytes: Number(row.log_bytes),
    logSyncs: Number(row.log_syncs),
    storedBytes: Number(row.stored),
    connections: Number(row.connections),
    processorMs,
  };
}

/** How the counters changed between two moments. The number of connections is that of the second moment. */
export function between(before: DatabaseCounters, after: DatabaseCounters): DatabaseCounters {
  const names = Object.keys(before) as (keyof DatabaseCounters)[];
  const counted = names.map((name) => [name, after[name] - before[name]] as const);
  return { ...(Object.fromEntries(counted) as unknown as DatabaseCounters), connections: after.connections };
}

/** Processor time of the first process, of its living children, and of its children that have ended. */
export function processorMsOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  const living = children.map((child) => {
    try {
      return cpuSeconds(child);
    } catch {
      // The child has ended since it was listed: its time is now counted below, in `ended`.
      return 0;
    }
  });
  const { own, ended } = processorSeconds(pid);
  return living.reduce((sum, seconds) => sum + seconds, own + ended) * 1000;
}

/** The median time from `commit` to its answer, in milliseconds, over many commits of one row each. */
export async function commitLatencyMs(url: string): Promise<number> {
  await using session = await Session.open(url, {});
  const run = (sql: string) => session.execute({ sql, parameters: [] });
  await run('create table commit_latency (at int)');
  const durations: number[] = [];
  for (let commit = 0; commit < commits; commit++) {
    await run('begin');
    await run('insert into commit_latency values (1)');
    const started = performance.now();
    await run('commit');
    durations.push(performance.now() - started);
  }
  await run('drop table commit_latency');
  return durations.toSorted((one, other) => one - other)[commits >> 1] ?? Number.NaN;
}

const commits = 200;

/** Processor time of the whole machine, in milliseconds. proc_stat(5). */
export function machineMs(): number {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line.trim().split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softirq) * 10;
}
