/**
 * What one node knows about the others. A beat reads the nodes that changed since the last beat, a few nodes in turn, and the
 * leases of the few nodes with the next numbers. That is the same number of rows however many nodes there are. Nodes are read in
 * turn because a node's work is not recorded as a change.
 */
import type { ExecutorFacts, LiveNode, NodeFacts } from '../fleet.ts';
import { leaseSeconds } from './lease.ts';

/** How many nodes a beat reads in turn. If there are at most this many nodes, each beat reads all of them. */
const inTurn = 8;
/** How many of the next nodes a node watches. If more nodes die in a row, the node before them removes this many per beat. */
const watched = 4;
const all = 2 ** 31;

/**
 * The number of the oldest transaction that may still commit: every later commit has this number or a higher one. Read it before
 * `selectChanges`, because a change may be committed between the two.
 */
export const oldestOpen = 'pg_snapshot_xmin(pg_current_snapshot())::text::bigint';
export const thisTransaction = 'pg_current_xact_id()::text::bigint';

const columns = `node, facts, slots_used, taken, lease_until >= now() as is_alive,
    to_char((lease_until - make_interval(secs => ${leaseSeconds})) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as beat_at`;
/** Selects the nodes that changed or were removed since transaction `$1`, and the nodes read in turn: the next few after `$2`. */
export const selectChanges = `(select ${columns}, false as in_turn from nodes where changed >= $1)
  union all select node, null, 0, 0, false, '', false from gone_nodes where changed >= $1
  union all (select ${columns}, true from nodes where node > $2 order by node limit $3)`;

/** Selects how many milliseconds the next nodes' leases still last. After the last node comes the first. */
export const selectNextLeases = `select node, (extract(epoch from lease_until - now()) * 1000)::int as lease_ms from (
    (select node, lease_until from nodes where node > $1 order by node limit ${watched})
    union (select node, lease_until from nodes where node < $1 order by node limit ${watched})
  ) as next`;

/** Other nodes read a node's facts only when these change. */
export const storeFacts = `update nodes set facts = $2, changed = ${thisTransaction} where node = $1`;

/** A statement that removes nodes, and records the removals for at least 10 minutes: by then, all other nodes have read them. */
export function removeNodes(which: string): string {
  return `with removed as (delete from nodes where ${which} returning node),
    forgotten as (delete from gone_nodes where gone_at < now() - interval '10 min')
    insert into gone_nodes (node, changed, gone_at) select node, ${thisTransaction}, now() from removed`;
}

export interface LeaseRow {
  readonly node: number;
  readonly lease_ms: number;
}

export interface NodeRow {
  readonly node: number;
  readonly facts: string | null;
  /** How many slots the node uses; null before its first beat. */
  readonly slots_used: number | null;
  readonly taken: number;
  readonly is_alive: boolean;
  readonly beat_at: string;
  readonly in_turn: boolean;
}

export class KnownNodes {
  readonly #nodes = new Map<number, LiveNode>();
  #seen: number | null = null;
  /** The last node that was read in turn. */
  #turn = 0;
  #sorted: readonly LiveNode[];

  constructor(node: number) {
    this.#sorted = [{ node, facts: null, claims: 0, beat_at: null }];
  }

  /** The nodes in the order of their numbers. */
  get all(): readonly LiveNode[] {
    return this.#sorted;
  }

  /** The arguments of `selectChanges`. */
  asked(): readonly unknown[] {
    return this.#seen === null ? [0, 0, all] : [this.#seen, this.#turn, inTurn];
  }

  /** Takes in the answer to `selectChanges`. `seen` is the `oldestOpen` that was read before this answer. */
  learn(rows: readonly NodeRow[], seen: number): void {
    const turn = rows.filter(({ in_turn }) => in_turn);
    const [after, limit] = this.#seen === null ? [0, all] : [this.#turn, inTurn];
    const last = turn.length < limit ? null : Math.max(...turn.map(({ node }) => node));
    for (const node of this.#nodes.keys())
      if (node > after && (last === null || node <= last)) this.#nodes.delete(node);
    for (const row of rows) if (row.is_alive) this.#nodes.set(row.node, liveNodeOf(row));
    for (const row of rows) if (!row.is_alive) this.#nodes.delete(row.node);
    this.#seen = seen;
    this.#turn = last ?? 0;
    this.#sorted = [...this.#nodes.values()].sort((one, other) => one.node - other.node);
  }

  /** Makes the next beat read everything again: after a crash, the database may reuse the numbers of transactions. */
  forget(): void {
    this.#seen = null;
  }

  /** Whether no node with a lower number serves. This node then does the tasks that only one node does. */
  isFirst(node: number): boolean {
    return !this.#sorted.some((other) => other.node < node && other.facts !== null);
  }
}

function liveNodeOf({ node, facts: text, slots_used, taken, beat_at }: NodeRow): LiveNode {
  const facts = JSON.parse(text ?? 'null') as NodeFacts | null;
  if (facts === null) return { node, facts, claims: taken, beat_at: null };
  const executor = facts.executor && withWork(facts.executor, slots_used);
  return { node, facts: { ...facts, executor }, claims: taken, beat_at };
}

function withWork(executor: ExecutorFacts, slots_used: number | null): ExecutorFacts {
  return slots_used === null ? executor : { ...executor, slots_used };
}

/** The text of a node's facts without its work. The work has a column of its own, so that the text need not change with it. */
export function textOfFacts(facts: NodeFacts | null): string {
  const executor = facts?.executor;
  return JSON.stringify(executor ? { ...facts, executor: withWork(executor, 0) } : facts);
}
