/**
 * One node's part in a fleet, on a session of its own. It renews the node's lease, removes the nodes with the next numbers if
 * their leases are over, and passes on messages between nodes. A node that removed another looks for the jobs that the removed
 * node left. The first node looks for such jobs with each beat.
 */
import { StandingLoop } from '../../ground/waiting/standing-loop.ts';
import type { Beat, FleetListener, LiveNode, NodeFacts } from '../fleet.ts';
import type { Message } from '../records/answers.ts';
import { StoreError } from '../store-error.ts';
import type { OpenFleet } from '../threaded-store.ts';
import { Session } from './connection.ts';
import { storeErrorOf } from './error.ts';
import {
  KnownNodes,
  type LeaseRow,
  type NodeRow,
  oldestOpen,
  removeNodes,
  selectChanges,
  selectNextLeases,
  storeFacts,
  textOfFacts,
} from './known-nodes.ts';
import { beatAnswerMilliseconds, beatMilliseconds, leaseSeconds, startingLeaseSeconds } from './lease.ts';
import { Messages } from './messages.ts';

/**
 * The settings of this session. A lease need not survive a crash of the database, because the node renews it afterwards. Rows are
 * found by an index, however few rows the server expects.
 */
const SETTINGS = `select set_config('synchronous_commit', 'off', false), set_config('enable_seqscan', 'off', false)`;

const renew = `update nodes set lease_until = now() + make_interval(secs => $2), slots_used = $3,
    taken = (select count(*) from claims where claims.node = $1) where node = $1`;
/** Removes nodes whose leases are over, unless they are storing something. A database restart gives each node a whole lease. */
const removeDead = removeNodes(`node in (
    select node from nodes where node = any($1) and lease_until < now() for update skip locked
  ) and now() - pg_postmaster_start_time() > make_interval(secs => ${leaseSeconds})`);
/** Selects the state of the fleet. All nodes' claims are searched only if `$1` is true. */
const selectState = `select ${oldestOpen} as seen,
    exists (select from tenants where queued > 0) as is_queued,
    case when $1 then exists (
      select from claims where not exists (select from nodes where nodes.node = claims.node)
    ) else false end as has_orphans`;
const selectCancelled = `select jobs.job_id from claims join jobs on jobs.tenant = claims.tenant and jobs.job_id = claims.job_id
  where claims.node = $1 and jobs.cancellation_requested = 1 and jobs.status = 'running'`;

/** This long after its stated end, a lease is certainly over. */
const leaseOverMilliseconds = 20;

interface State {
  readonly seen: number;
  readonly is_queued: boolean;
  readonly has_orphans: boolean;
}

export interface PostgresFleetOptions {
  readonly url: string;
  readonly node: number;
  /** Called when beats begin to fail. */
  readonly onProblem: (error: StoreError) => void;
}

export class PostgresFleet implements OpenFleet {
  readonly node: number;
  readonly #options: PostgresFleetOptions;
  readonly #loop = new StandingLoop((signal) => this.#round(signal));
  readonly #listeners: FleetListener[] = [];
  readonly #lost = Promise.withResolvers<StoreError>();
  readonly #messages: Messages;
  #session: Session | null = null;
  #facts: () => NodeFacts | null = () => null;
  readonly #known: KnownNodes;
  /** The text of this node's facts, as the store has it. */
  #storedFacts: string | null = null;
  /** Whether this node removed another node, and may not have found all jobs of the removed node yet. */
  #hasRemoved = false;
  #lateBeats = 0;
  #lastBeatAt: number | null = null;
  /** The time since which all beats have succeeded; null while they fail. */
  #steadySince: number | null = null;
  #beaten = Promise.withResolvers<void>();
  /** Ends the pause before the next beat. */
  #wake = Promise.withResolvers<void>();
  /** The pause until the next beat. It lasts no longer than the watched lease that ends first. */
  #pauseMilliseconds = beatMilliseconds;
  #isClosed = false;

  private constructor(options: PostgresFleetOptions) {
    this.#options = options;
    this.node = options.node;
    this.#known = new KnownNodes(options.node);
    this.#messages = new Messages(options.node, (topics, added) => {
      for (const listener of this.#listeners) listener.heard?.(topics, added);
    });
  }

  /** Begins to renew the lease of a registered node. @throws StoreError if the database cannot be reached */
  static async open(options: PostgresFleetOptions): Promise<PostgresFleet> {
    const fleet = new PostgresFleet(options);
    await fleet.#opened();
    fleet.#loop.start();
    return fleet;
  }

  get lost(): Promise<StoreError> {
    return this.#lost.promise;
  }

  get lateBeats(): number {
    return this.#lateBeats;
  }

  nodes(): readonly LiveNode[] {
    return this.#known.all;
  }

  async announce(facts: () => NodeFacts): Promise<void> {
    this.#facts = facts;
    // The beat under way may have been sent before these facts were known.
    await this.#beaten.promise;
    this.look();
    await this.#beaten.promise;
  }

  listen(listener: FleetListener): void {
    this.#listeners.push(listener);
  }

  look(): void {
    this.#wake.resolve();
  }

  tell(topic: string, to: number | 'followers'): void {
    if (this.#known.all.length > 1) this.#messages.tell(topic, to);
  }

  toFollowers(...topics: readonly string[]): readonly Message[] {
    return this.#known.all.length > 1 ? topics.map((topic) => this.#messages.toFollowers(topic)) : [];
  }

  follow(topic: string): Disposable {
    return this.#messages.follow(topic);
  }

  /** Reports that the store has ended. */
  end(error: StoreError): void {
    if (!this.#isClosed) this.#lost.resolve(error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#loop.stop();
    this.#wake.resolve();
    await this.#loop[Symbol.asyncDispose]();
    await this.#session?.[Symbol.asyncDispose]();
  }

  async #round(signal: AbortSignal): Promise<void> {
    try {
      const beat = await this.#beat();
      this.#noteBeat(performance.now());
      if (!signal.aborted) for (const listener of this.#listeners) listener.beat?.(beat);
    } catch (thrown) {
      const error = storeErrorOf(thrown);
      if (error.code === 'locked') {
        this.#loop.stop();
        this.end(error);
      }
      if (this.#steadySince !== null && !signal.aborted) this.#options.onProblem(error);
      this.#steadySince = null;
      await this.#session?.[Symbol.asyncDispose]();
    }
    const beaten = this.#beaten;
    this.#beaten = Promise.withResolvers<void>();
    beaten.resolve();
    if (!signal.aborted) await this.#pause();
  }

  #noteBeat(now: number): void {
    if (this.#lastBeatAt !== null && now - this.#lastBeatAt > 2 * beatMilliseconds) this.#lateBeats++;
    this.#lastBeatAt = now;
    this.#steadySince ??= now;
  }

  async #pause(): Promise<void> {
    const timer = setTimeout(() => this.#wake.resolve(), this.#pauseMilliseconds);
    await this.#wake.promise;
    this.#wake = Promise.withResolvers<void>();
    clearTimeout(timer);
  }

  async #beat(): Promise<Beat> {
    const session = await this.#opened();
    const renewed = this.#renew(session);
    const leases = session.execute<LeaseRow>({ sql: selectNextLeases, parameters: [this.node] });
    const looksForOrphans = this.#hasRemoved || this.#known.isFirst(this.node);
    const state = session.execute<State>({ sql: selectState, parameters: [looksForOrphans] });
    const changes = session.execute<NodeRow>({ sql: selectChanges, parameters: this.#known.asked() });
    const cancelled = session.execute<{ job_id: string }>({ sql: selectCancelled, parameters: [this.node] });
    const answers = await Promise.all([renewed, leases, state, changes, cancelled]);
    const [found] = answers[2].rows;
    if (found !== undefined) this.#known.learn(answers[3].rows, found.seen);
    this.#hasRemoved &&= found?.has_orphans === true;
    await this.#watch(session, answers[1].rows);
    this.#messages.forgetUnfollowed();
    return {
      nodes: this.#known.all,
      isQueued: found?.is_queued === true,
      hasOrphans: found?.has_orphans === true,
      cancelled: answers[4].rows.map(({ job_id }) => job_id),
    };
  }

  /** @throws StoreError `locked` if the row of this node is gone */
  async #renew(session: Session): Promise<void> {
    const facts = this.#facts();
    const lease = facts === null ? startingLeaseSeconds : leaseSeconds;
    const text = textOfFacts(facts);
    const isNew = text !== this.#storedFacts;
    const stored = isNew ? session.execute({ sql: storeFacts, parameters: [this.node, text] }) : null;
    const used = facts?.executor?.slots_used ?? 0;
    const renewed = session.execute({ sql: renew, parameters: [this.node, lease, used] });
    const [, { rowCount }] = await Promise.all([stored, renewed]);
    if (rowCount === 0) throw new StoreError('locked', 'another node has taken over the jobs of this one');
    this.#storedFacts = text;
  }

  /** Removes the watched nodes whose leases are over. If any was removed, looks again at once; else, when a lease may be over. */
  async #watch(session: Session, leases: readonly LeaseRow[]): Promise<void> {
    const over = leases.filter(({ lease_ms }) => lease_ms < 0).map(({ node }) => node);
    const left = leases.flatMap(({ lease_ms }) => (lease_ms < 0 ? [] : lease_ms + leaseOverMilliseconds));
    this.#pauseMilliseconds = Math.min(beatMilliseconds, ...left);
    if (over.length === 0 || !this.#isSteady()) return;
    const { rowCount } = await session.execute({ sql: removeDead, parameters: [over] });
    if (!rowCount) return;
    this.#hasRemoved = true;
    this.look();
  }

  /**
   * Whether this node has reached the database for longer than a lease. Only then may it take another node for dead: after an
   * outage of the database or network, every node has time to come back.
   */
  #isSteady(): boolean {
    return this.#steadySince !== null && performance.now() - this.#steadySince > leaseSeconds * 1000;
  }

  async #opened(): Promise<Session> {
    if (this.#session !== null && !this.#session.isLost) return this.#session;
    const session = await Session.open(this.#options.url, {}, beatAnswerMilliseconds);
    this.#known.forget();
    this.#storedFacts = null;
    try {
      session.send({ sql: SETTINGS, parameters: [] });
      await this.#messages.listenIn(session);
    } catch (thrown) {
      await session[Symbol.asyncDispose]();
      throw thrown;
    }
    this.#session = session;
    return session;
  }
}
