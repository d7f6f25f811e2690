/**
 * The store's interface, without SQL. Failures reject with a `StoreError`. A method that changes something resolves only when the
 * change is on disk. Every read for a caller names the tenant: another tenant's job gives the same answer as an unknown job,
 * `null` or empty. No folder above the store knows SQL, and the store knows neither HTTP nor processes.
 */
import type { EventBody, FoldedResult } from '@vouchbox/protocol';
import type { JsonText } from '../ground/json-text.ts';
import type { Methods, Reads, Writes } from './commands.ts';
import type { Fleet, FleetCommands } from './fleet.ts';
import type { FinishInput } from './records/inputs.ts';
import type { JobKey } from './records/rows.ts';

/** The commands of `reads.ts` and `writes.ts`, each documented where it is defined. */
type Asked = Methods<Reads> & Methods<Writes>;

/** The store. The methods declared here do more than run one command. */
export interface Store
  extends Omit<Asked, 'append' | 'finish' | 'node' | 'orphanedJobs' | 'takeQueuedJobs' | keyof FleetCommands>,
    AsyncDisposable {
  /** The other nodes on this store; null if the store is for one process. */
  readonly fleet: Fleet | null;
  /** Jobs that were left `running`. In a store for one process, all running jobs; otherwise, the running jobs of gone nodes. */
  readonly runningJobs: Asked['runningJobs'];
  /** Queued jobs for this node to run. In a store that nodes share, this node has claimed them when the call resolves. */
  readonly queuedJobs: Asked['queuedJobs'];
  /**
   * Adds events to the chain of a running job, in order. If the job is not running, nothing is stored, and the answer is false.
   * `isFollowed` means that a caller waits for the events.
   */
  append(key: JobKey, events: readonly EventBody[], isFollowed?: boolean): Promise<boolean>;
  /**
   * Ends a job in its terminal transaction: events, artifacts, `finished`, status, receipt and outbox row, all or none. If the
   * job was already terminal, nothing changes, and the answer is false.
   */
  finish(input: FinishInput): Promise<boolean>;
  /**
   * Whether this process has accepted or started the job, is the only process that may end it, and has not yet stored its end.
   * A false answer tells nothing about the job.
   */
  isUnderWay(key: JobKey): boolean;
  /**
   * The short result of a job that ended recently; null if the result must be read, or if there is no such job. A longer result
   * is kept only if a caller waited for the end, and is returned only once.
   */
  shortResult(key: JobKey): JsonText<FoldedResult> | null;
}
