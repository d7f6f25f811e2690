/**
 * What the nodes of one store know about each other. A node is one process of a service. Messages may be lost: each beat reads
 * the same facts anyway, and a message only reports them sooner.
 */
import type { CanaryStatus, IsolationClass, Language, LimitName, NodeRole, RuntimePack } from '@vouchbox/protocol';
import type { Methods, Reads, Writes } from './commands.ts';
import type { Added, Message } from './records/answers.ts';
import type { StoreError } from './store-error.ts';

/** What a node states about itself, for the other nodes and for its callers. */
export interface NodeFacts {
  readonly version: string;
  readonly roles: readonly NodeRole[];
  /** The class of the node's cells, and what the node can run; null if the node makes no cells. */
  readonly executor: ExecutorFacts | null;
  /** The key that the node signs with; null if it does not sign. */
  readonly signs_with: string | null;
  /** Why the node cannot sign at present, without a path; null if it can sign or need not. */
  readonly signing_problem: { readonly message: string; readonly at: string } | null;
  /** Why the node cannot log what is signed; null if it can or need not. Absent for a node of an earlier version. */
  readonly log_problem?: { readonly message: string; readonly at: string } | null;
  /** How the witnesses of the log last answered the node. Absent for a node of an earlier version. */
  readonly log_witnesses?: readonly { readonly name: string; readonly state: string }[];
}

export interface ExecutorFacts {
  readonly backend: string;
  readonly isolation_class: IsolationClass;
  /** The limits that the node's cells enforce. A node of an earlier version does not report them. */
  readonly enforced?: readonly LimitName[];
  readonly languages: readonly Language[];
  readonly runtime_packs: readonly RuntimePack[];
  /** Whether the programs of a cell may reach one another over 127.0.0.1. */
  readonly has_loopback: boolean;
  /** How many slots are held now. */
  readonly slots_used: number;
  /** How many jobs the node runs at once. */
  readonly slots: number;
  /** How many MiB the node's running jobs may have together. */
  readonly concurrent_mem_mb_max: number;
  /** Whether cells can be made now. */
  readonly ready: boolean;
  /** The newest canaries that the node sent. A node of an earlier version sends none. */
  readonly canaries?: readonly CanaryStatus[];
}

/** A node whose lease has not ended. Nodes are listed in the order of their numbers. */
export interface LiveNode {
  readonly node: number;
  /** The node's facts about itself. Null until the node serves, and for an operator's command. */
  readonly facts: NodeFacts | null;
  /** How many unfinished jobs the node has taken. */
  readonly claims: number;
  /** When the node last renewed its lease, on the database's clock; null until the node serves. */
  readonly beat_at: string | null;
}

/** The results of one beat. */
export interface Beat {
  readonly nodes: readonly LiveNode[];
  /** Whether a job is queued. */
  readonly isQueued: boolean;
  /** Whether a node that is no longer alive has left jobs behind. */
  readonly hasOrphans: boolean;
  /** Running jobs of this node that are to be cancelled. */
  readonly cancelled: readonly string[];
}

/** Called with events of other nodes. */
export interface FleetListener {
  /**
   * Called with the topics that another node reported; null if every topic may have changed. `added` lists the additions to jobs
   * that the message carried, in order.
   */
  heard?(topics: readonly string[] | null, added: readonly Added[]): void;
  beat?(beat: Beat): void;
}

/** The commands of a store that nodes share. In a store for a single process, they do nothing. */
export type FleetCommands = Pick<
  Methods<Reads> & Methods<Writes>,
  'registerKey' | 'registeredKeys' | 'releaseJobs' | 'releaseOrphans' | 'takenJobs'
>;

/** Everything that only a store on PostgreSQL can do. */
export interface Fleet extends FleetCommands {
  /** The number of this node. */
  readonly node: number;
  /** The living nodes as the last beat found them. This node is always among them. */
  nodes(): readonly LiveNode[];
  /** Publishes this node's facts, now and with each beat. Resolves when the facts are stored and the other nodes are known. */
  announce(facts: () => NodeFacts): Promise<void>;
  /**
   * Tells one node, or all nodes that follow the topic, that something changed. The method never waits, and the message may be
   * lost. A node sends no message to itself.
   */
  tell(topic: string, to: number | 'followers'): void;
  /** The messages to the followers of topics; empty if there is no other node. A change sends them right after its commit. */
  toFollowers(...topics: readonly string[]): readonly Message[];
  /**
   * Follows the messages of a topic until disposed. Once the store has registered the follower, listeners are told of
   * the topic once, because a message may have been sent before that.
   */
  follow(topic: string): Disposable;
  listen(listener: FleetListener): void;
  /** Looks now, without waiting for the next beat. */
  look(): void;
  /** How many times this node renewed its lease more than one beat late. */
  readonly lateBeats: number;
  /** Resolves once this node can no longer change anything: another node has taken over its jobs, or the store has ended. */
  readonly lost: Promise<StoreError>;
}
