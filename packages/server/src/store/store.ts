/**
 * The store's interface, without SQL. A failure rejects with a `StoreError`. Every method that changes something resolves only
 * when the change is on disk. Every read for a caller names the tenant: for the job of another tenant, as for an unknown job, the
 * answer is `null` or empty. No folder above the store knows SQL, and the store knows neither HTTP nor processes.
 */
import type { EventBody, FoldedResult } from '@vouchbox/protocol';
import type { JsonText } from '../ground/json-text.ts';
import type { Methods, Reads, Writes } from './commands.ts';
import type { Fleet, FleetCommands } from './fleet.ts';
import type { FinishInput } from './records/inputs.ts';
import type { JobKey } from './records/rows.ts';

/** The commands of `reads.ts` and `writes.ts`, each documented where it is defined. */
type Asked = Methods<Reads> & Methods<Writes>;

/** The store. Each method that is declared here runs more than one command. */
export interface Store
  extends Omit<Asked, 'append' | 'finish' | 'node' | 'orphanedJobs' | 'takeQueuedJobs' | keyof FleetCommands>,
    AsyncDisposable {
  /** The other nodes on this store; null if the store is for one process. */
  readonly fleet: Fleet | null;
  /** Jobs that were left `running`: all running jobs in a store for one process, else those of gone nodes. */
  readonly runningJobs: Asked['runningJobs'];
  /** Queued jobs that this node is to run. In a store that nodes share, this node has claimed them when the call resolves. */
  readonly queuedJobs: Asked['queuedJobs'];
  /**
   * Adds events to the chain of a running job, in order. False if the job is not running: then nothing is stored.
   * `isFollowed` means that a caller waits for the events.
   */
  append(key: JobKey, events: readonly EventBody[], isFollowed?: boolean): Promise<boolean>;
  /**
   * Ends a job in its terminal transaction: events, artifacts, `finished`, status, receipt and outbox row, all or none. False if
   * the job was already terminal: then nothing changes.
   */
  finish(input: FinishInput): Promise<boolean>;
  /**
   * Whether this process has accepted or started the job, is the only one that may end it, and has not yet stored the
   * end. False says nothing about the job.
   */
  isUnderWay(key: JobKey): boolean;
  /**
   * The short result of a job that ended lately; null if the result must be read, or if there is no such job. A longer
   * result is kept only if a caller waited for the end, and is returned only once.
   */
  shortResult(key: JobKey): JsonText<FoldedResult> | null;
}
