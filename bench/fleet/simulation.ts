/**
 * A model of nodes that share a PostgreSQL store, by discrete events: what they wait for, how many jobs a second they
 * complete, and what is busy meanwhile. The steps of a job are those of docs/SCALING.md. Everything is deterministic:
 * the same inputs give the same answer.
 */

import { Clock, Station } from './clock.ts';

/** What one job costs, in milliseconds of a processor unless said otherwise. All are measured by `npm run bench -- fleet`. */
export interface JobCost {
  /** In the node's process, on all its threads, without signing. */
  readonly nodeMs: number;
  /** In the cell and whoever makes, limits and removes it. */
  readonly cellMs: number;
  /** In the database's processes. */
  readonly databaseMs: number;
  /** In the node that signs. */
  readonly signMs: number;
  /** From `commit` to its answer, without a processor: the database's disk and the network. */
  readonly commitLatencyMs: number;
}

export interface Fleet {
  readonly nodes: number;
  readonly coresPerNode: number;
  /** Cores of the database; 0 if it shares those of the only machine with all nodes. */
  readonly databaseCores: number;
  readonly slotsPerNode: number;
  /** Callers that each have one job at a time, spread over the nodes. */
  readonly clients: number;
  /** Callers are spread over so many tenants. */
  readonly tenants: number;
  /** Whether all callers of a tenant ask the same node. Otherwise they are spread over all nodes. */
  readonly isTenantAtOneNode: boolean;
}

export interface Simulated {
  readonly jobsPerSecond: number;
  readonly medianMs: number;
  /** The part of the time, from 0 to 1, in which each was busy. */
  readonly busy: Readonly<Record<'nodes' | 'database' | 'writers' | 'tenants', number>>;
}

interface Change {
  /** Whose row it locks; null if it needs none. */
  readonly tenant: number | null;
  readonly databaseMs: number;
  readonly committed: () => void;
}

/** The writing session of a node: changes that wait together share a transaction, and it commits one at a time. */
class Writer {
  readonly #waiting: Change[] = [];
  readonly #commit: (changes: readonly Change[]) => Promise<void>;
  #isBusy = false;

  constructor(commit: (changes: readonly Change[]) => Promise<void>) {
    this.#commit = commit;
  }

  change(tenant: number | null, databaseMs: number): Promise<void> {
    return new Promise((committed) => {
      this.#waiting.push({ tenant, databaseMs, committed });
      if (!this.#isBusy) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    while (this.#waiting.length > 0) {
      const changes = this.#waiting.splice(0);
      await this.#commit(changes);
      for (const { committed } of changes) committed();
    }
    this.#isBusy = false;
  }
}

const warmUpMs = 2_000;
const measuredMs = 10_000;
const allMs = warmUpMs + measuredMs;

/** How a fleet does under callers that always have a job. Takes seconds for some thousand jobs a second. */
export async function simulate(fleet: Fleet, cost: JobCost): Promise<Simulated> {
  const model = new Model(fleet, cost);
  for (let client = 0; client < fleet.clients; client++) void model.drive(client);
  await model.clock.runUntil(allMs);
  return model.found();
}

class Model {
  readonly clock = new Clock();
  readonly #fleet: Fleet;
  readonly #cost: JobCost;
  readonly #database: Station;
  readonly #tenants: readonly Station[];
  readonly #nodes: readonly { readonly cores: Station; readonly slots: Station; readonly writer: Writer }[];
  readonly #durations: number[] = [];
  #writersBusyMs = 0;

  constructor(fleet: Fleet, cost: JobCost) {
    this.#fleet = fleet;
    this.#cost = cost;
    const stations = (servers: number) => new Station(this.clock, servers);
    const shared = fleet.databaseCores === 0 ? stations(fleet.coresPerNode) : null;
    this.#database = shared ?? stations(fleet.databaseCores);
    this.#tenants = Array.from({ length: fleet.tenants }, () => stations(1));
    this.#nodes = Array.from({ length: fleet.nodes }, () => ({
      cores: shared ?? stations(fleet.coresPerNode),
      slots: stations(fleet.slotsPerNode),
      writer: new Writer((changes) => this.#commit(changes)),
    }));
  }

  /** A caller's jobs, one after the other. */
  async drive(client: number): Promise<void> {
    const { nodeMs, cellMs, databaseMs } = this.#cost;
    const { nodes, tenants, isTenantAtOneNode } = this.#fleet;
    const tenant = (isTenantAtOneNode ? client : Math.floor(client / nodes)) % tenants;
    const node = this.#nodes[(isTenantAtOneNode ? tenant : client) % nodes];
    if (node === undefined) return;
    for (;;) {
      const started = this.clock.now;
      await node.cores.use(nodeMs / 2);
      await node.slots.take();
      await node.writer.change(tenant, databaseMs / 3);
      await node.cores.use(cellMs);
      await node.writer.change(tenant, databaseMs / 3);
      node.slots.release();
      await node.cores.use(nodeMs / 2);
      if (this.clock.now > warmUpMs) this.#durations.push(this.clock.now - started);
      void this.#sign();
    }
  }

  found(): Simulated {
    const stations = [...new Set(this.#nodes.map(({ cores }) => cores))];
    const busy = ({ busyMs, servers }: Station) => busyMs / servers / allMs;
    return {
      jobsPerSecond: this.#durations.length / (measuredMs / 1000),
      medianMs: this.#durations.toSorted((one, other) => one - other)[this.#durations.length >> 1] ?? Number.NaN,
      busy: {
        nodes: stations.map(busy).reduce((sum, part) => sum + part, 0) / stations.length,
        database: busy(this.#database),
        writers: this.#writersBusyMs / this.#fleet.nodes / allMs,
        tenants: Math.max(...this.#tenants.map(busy)),
      },
    };
  }

  /** One node signs for all, and locks no tenant. */
  async #sign(): Promise<void> {
    const [signer] = this.#nodes;
    await signer?.cores.use(this.#cost.signMs);
    await signer?.writer.change(null, this.#cost.databaseMs / 3);
  }

  /** Every node locks tenants in the same order, so that no two wait for each other, and keeps them until the commit. */
  async #commit(changes: readonly Change[]): Promise<void> {
    const started = this.clock.now;
    const names = [...new Set(changes.flatMap(({ tenant }) => tenant ?? []))].sort((one, other) => one - other);
    const locks = names.flatMap((name) => this.#tenants[name] ?? []);
    for (const lock of locks) await lock.take();
    const lockedAt = this.clock.now;
    for (const { databaseMs } of changes) await this.#database.use(databaseMs);
    await this.clock.pass(this.#cost.commitLatencyMs);
    for (const lock of locks) {
      lock.busyMs += this.clock.now - lockedAt;
      lock.release();
    }
    this.#writersBusyMs += this.clock.now - started;
  }
}
