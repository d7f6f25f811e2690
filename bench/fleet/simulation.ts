/**
 * A model of nodes that share a PostgreSQL store, by discrete events: what they wait for, how many jobs a second they
 * complete, and what is busy meanwhile. The steps of a job are those of docs/SCALING.md. Everything is deterministic:
 * the same inputs give the same answer.
 */

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
}

export interface Simulated {
  readonly jobsPerSecond: number;
  readonly medianMs: number;
  /** The part of the time, from 0 to 1, in which each was busy. */
  readonly busy: Readonly<Record<'nodes' | 'database' | 'writers' | 'tenants', number>>;
}

/** Servers with one queue, such as the cores of a machine. A step waits its turn and then takes its time. */
class Station {
  readonly #queue: (() => void)[] = [];
  readonly #simulation: Simulation;
  readonly servers: number;
  #free: number;
  busyMs = 0;

  constructor(simulation: Simulation, servers: number) {
    this.#simulation = simulation;
    this.servers = servers;
    this.#free = servers;
  }

  /** Takes one server for this long. */
  async use(milliseconds: number): Promise<void> {
    await this.take();
    this.busyMs += milliseconds;
    await this.#simulation.pass(milliseconds);
    this.release();
  }

  take(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#queue.push(resolve));
  }

  release(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

/** The clock: every wait is an entry, and the earliest entry is next. */
class Simulation {
  #entries: { readonly at: number; readonly order: number; readonly resume: () => void }[] = [];
  #order = 0;
  now = 0;

  pass(milliseconds: number): Promise<void> {
    return new Promise((resume) => this.#insert({ at: this.now + milliseconds, order: this.#order++, resume }));
  }

  /** Runs until this moment. */
  async runUntil(end: number): Promise<void> {
    for (;;) {
      await settled();
      const next = this.#entries.at(-1);
      if (next === undefined || next.at > end) break;
      this.#entries.pop();
      this.now = next.at;
      next.resume();
    }
    this.now = end;
  }

  /** Keeps the entries sorted, the earliest last. */
  #insert(entry: { at: number; order: number; resume: () => void }): void {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#entries[middle];
      if (other !== undefined && (other.at > entry.at || (other.at === entry.at && other.order > entry.order))) {
        low = middle + 1;
      } else high = middle;
    }
    this.#entries.splice(low, 0, entry);
  }
}

/** Resolves once everything that can go on without time has gone on. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

interface Change {
  readonly tenant: number;
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

  change(tenant: number, databaseMs: number): Promise<void> {
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

/** How a fleet does under callers that always have a job. Takes seconds for some thousand jobs a second. */
export async function simulate(fleet: Fleet, cost: JobCost): Promise<Simulated> {
  const clock = new Simulation();
  const shared = fleet.databaseCores === 0 ? new Station(clock, fleet.coresPerNode) : null;
  const database = shared ?? new Station(clock, fleet.databaseCores);
  const tenants = Array.from({ length: fleet.tenants }, () => new Station(clock, 1));
  const commit = async (changes: readonly Change[]) => {
    const started = clock.now;
    // Every node locks tenants in the same order, so that no two wait for each other.
    const locked = [...new Set(changes.map(({ tenant }) => tenant))].sort((one, other) => one - other);
    for (const tenant of locked) await tenants[tenant]?.take();
    const lockedAt = clock.now;
    for (const { databaseMs } of changes) await database.use(databaseMs);
    await clock.pass(cost.commitLatencyMs);
    for (const tenant of locked) {
      const station = tenants[tenant];
      if (station === undefined) continue;
      station.busyMs += clock.now - lockedAt;
      station.release();
    }
    writersBusyMs += clock.now - started;
  };
  let writersBusyMs = 0;
  const nodes = Array.from({ length: fleet.nodes }, () => ({
    cores: shared ?? new Station(clock, fleet.coresPerNode),
    slots: new Station(clock, fleet.slotsPerNode),
    writer: new Writer(commit),
  }));
  const signer = nodes[0];
  const durations: number[] = [];
  const sign = async (tenant: number) => {
    await signer?.cores.use(cost.signMs);
    await signer?.writer.change(tenant, cost.databaseMs / 3);
  };
  const drive = async (client: number) => {
    const node = nodes[client % fleet.nodes];
    const tenant = Math.floor(client / fleet.nodes) % fleet.tenants;
    if (node === undefined) return;
    for (;;) {
      const started = clock.now;
      await node.cores.use(cost.nodeMs / 2);
      await node.slots.take();
      await node.writer.change(tenant, cost.databaseMs / 3);
      await node.cores.use(cost.cellMs);
      await node.writer.change(tenant, cost.databaseMs / 3);
      node.slots.release();
      await node.cores.use(cost.nodeMs / 2);
      if (clock.now > warmUpMs) durations.push(clock.now - started);
      void sign(tenant);
    }
  };
  for (let client = 0; client < fleet.clients; client++) void drive(client);
  await clock.runUntil(warmUpMs + measuredMs);
  const all = warmUpMs + measuredMs;
  const stations = shared === null ? nodes.map(({ cores }) => cores) : [shared];
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return {
    jobsPerSecond: durations.length / (measuredMs / 1000),
    medianMs: durations.toSorted((one, other) => one - other)[durations.length >> 1] ?? Number.NaN,
    busy: {
      nodes: sum(stations.map(({ busyMs, servers }) => busyMs / servers)) / stations.length / all,
      database: database.busyMs / database.servers / all,
      writers: writersBusyMs / fleet.nodes / all,
      tenants: Math.max(...tenants.map(({ busyMs }) => busyMs)) / all,
    },
  };
}
