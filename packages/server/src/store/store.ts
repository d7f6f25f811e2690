/**
 * The store's interface, without SQL. A failure rejects with a `StoreError`. Every method that changes something
 * resolves only when the change is on disk. Every read for a caller names the tenant: a foreign job and an unknown one
 * both give `null`. Nothing above this floor knows SQL; nothing here knows HTTP or processes.
 */
import type { EventBody, FoldedResult } from '@vouchbox/protocol';
import type { JsonText } from '../ground/json-text.ts';
import type { Methods, Reads, Writes } from './commands.ts';
import type { Fleet, FleetCommands } from './fleet.ts';
import type { FinishInput } from './records/inputs.ts';
import type { JobKey } from './records/rows.ts';

/** The commands of `reads.ts` and `writes.ts`, each documented where it is defined. */
type Asked = Methods<Reads> & Methods<Writes>;

/** The methods that are declared here do more than one command. */
export interface Store
  extends Omit<Asked, 'append' | 'finish' | 'node' | 'orphanedJobs' | 'takeQueuedJobs' | keyof FleetCommands>,
    AsyncDisposable {
  /** The other nodes on this store; null if it is for one process. */
  readonly fleet: Fleet | null;
  /**
   * Jobs that were left `running`: all that run, in a store for one process, else those of nodes that are gone.
   */
  readonly runningJobs: Asked['runningJobs'];
  /** Queued jobs that this node is to run. In a store that nodes share, this node has then taken them. */
  readonly queuedJobs: Asked['queuedJobs'];
  /**
   * Adds events to the chain of a running job, in order. False if the job is not running: then nothing is stored.
   * `isFollowed` says that somebody waits for them.
   */
  append(key: JobKey, events: readonly EventBody[], isFollowed?: boolean): Promise<boolean>;
  /**
   * The terminal transaction: events, artifacts, `finished`, status, receipt and outbox row, all or none. False if the
   * job was already terminal: then nothing changes.
   */
  finish(input: FinishInput): Promise<boolean>;
  /**
   * Whether this process has accepted or started the job, only it may end the job, and it has not yet stored the end. False says
   * nothing of the job.
   */
  isUnderWay(key: JobKey): boolean;
  /**
   * The short result of a job that ended lately; null if it must be read, or if there is no such job. A longer result,
   * which is there if a caller waited for the end, is given once.
   */
  shortResult(key: JobKey): JsonText<FoldedResult> | null;
}
