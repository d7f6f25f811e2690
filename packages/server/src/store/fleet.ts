/**
 * The knowledge of several nodes on one store about each other. A node is one process of a service. Messages only make them
 * quicker: each beat reads the store.
 */
import type { CanaryStatus, IsolationClass, Language, LimitName, NodeRole, RuntimePack } from '@vouchbox/protocol';
import type { Methods, Reads, Writes } from './commands.ts';
import type { StoreError } from './store-error.ts';

/** A node's facts about itself, for the others and for its callers. */
export interface NodeFacts {
  readonly version: string;
  readonly roles: readonly NodeRole[];
  /** The class of its cells; null if it makes none. */
  readonly executor: ExecutorFacts | null;
  /** The key that it signs with; null if it does not sign. */
  readonly signs_with: string | null;
  /** Why it cannot sign at present, without a path; null if it can or need not. */
  readonly signing_problem: { readonly message: string; readonly at: string } | null;
  /** Why it cannot log what is signed; null if it can or need not. Absent for a node of an earlier version. */
  readonly log_problem?: { readonly message: string; readonly at: string } | null;
  /** How the witnesses of the log answered it last. Absent for a node of an earlier version. */
  readonly log_witnesses?: readonly { readonly name: string; readonly state: string }[];
}

export interface ExecutorFacts {
  readonly backend: string;
  readonly isolation_class: IsolationClass;
  /** The limits that its cells hold. A node of an earlier version does not say so. */
  readonly enforced?: readonly LimitName[];
  readonly languages: readonly Language[];
  readonly runtime_packs: readonly RuntimePack[];
  /** Whether programs may reach themselves over 127.0.0.1. */
  readonly has_loopback: boolean;
  /** Jobs that hold a slot now. */
  readonly slots_used: number;
  /** Jobs that run at once. */
  readonly slots: number;
  /** MiB that its running jobs may have together. */
  readonly concurrent_mem_mb_max: number;
  /** Whether cells can be made now. */
  readonly ready: boolean;
  /** The newest canaries that it sent. A node of an earlier version sends none. */
  readonly canaries?: readonly CanaryStatus[];
}

/** A node whose lease runs. Nodes are in the order of their numbers. */
export interface LiveNode {
  readonly node: number;
  /** Null until it serves, and for a command of an operator. */
  readonly facts: NodeFacts | null;
  /** Jobs that it has taken and that have not ended. */
  readonly claims: number;
  /** When it last renewed its lease, on the database's clock; null until it serves. */
  readonly beat_at: string | null;
}

/** The results of one beat. */
export interface Beat {
  readonly nodes: readonly LiveNode[];
  /** Whether a job is queued. */
  readonly isQueued: boolean;
  /** Whether a node that is gone left jobs. */
  readonly hasOrphans: boolean;
  /** Running jobs of this node that are to be cancelled. */
  readonly cancelled: readonly string[];
}

/** Called with events of other nodes. */
export interface FleetListener {
  /** Topics that another node reported; null if every topic may have changed. */
  heard(topics: readonly string[] | null): void;
  beat(beat: Beat): void;
}

/** The commands of a store that nodes share. In a store for a single process they have nothing to do. */
export type FleetCommands = Pick<
  Methods<Reads> & Methods<Writes>,
  'registerKey' | 'registeredKeys' | 'releaseJobs' | 'releaseOrphans' | 'takenJobs'
>;

/** All that a store on PostgreSQL can do and one in a file can not. */
export interface Fleet extends FleetCommands {
  /** The number of this node. */
  readonly node: number;
  /** The living nodes as the last beat found them: at least this one. */
  nodes(): readonly LiveNode[];
  /** Says what this node is, now and with each beat. Resolves when it is stored, and the other nodes are known. */
  announce(facts: () => NodeFacts): Promise<void>;
  /**
   * Tells that something changed: one node, or those that follow the topic. Never waits, and may be lost. A node tells
   * itself nothing.
   */
  tell(topic: string, to: number | 'followers'): void;
  /**
   * Hears the messages of a topic until it is disposed. Once the store has noted that, the topic is heard once, because something
   * may have been told before.
   */
  follow(topic: string): Disposable;
  listen(listener: FleetListener): void;
  /** Looks now at what the next beat would find. */
  look(): void;
  /** How often this node renewed its lease more than a beat too late. */
  readonly lateBeats: number;
  /** Resolves once this node can change nothing more: another one has taken over its jobs, or the store has ended. */
  readonly lost: Promise<StoreError>;
}
