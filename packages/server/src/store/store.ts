/**
 * The store's interface, without SQL. A failure rejects with a `StoreError`. Every method that changes something
 * resolves only when the change is on disk. Every read for a caller carries the tenant: a foreign job and an unknown
 * one are the same `null`. Nothing above this floor knows SQL; nothing here knows HTTP or processes.
 */
import type { EventBody, FoldedResult, JobDetail } from '@vouchbox/protocol';
import type { JsonText } from '../ground/json-text.ts';
import type { Methods, Reads, Writes } from './commands.ts';
import type { FinishInput, JobDetailInput, JobKey } from './records.ts';

/** What `reads.ts` and `writes.ts` name, each told where it is defined. */
type Asked = Methods<Reads> & Methods<Writes>;

/** The methods that are here do more than one command does. */
export interface Store extends Omit<Asked, 'append' | 'finish' | 'jobDetail'>, AsyncDisposable {
  /** Adds events to the chain of a running job, in order. False if the job is not running: nothing is stored. */
  append(key: JobKey, events: readonly EventBody[]): Promise<boolean>;
  /**
   * The terminal transaction: events, artifacts, `finished`, status, receipt and outbox row, all or none. False where
   * the job was terminal already, which then stays as it ended.
   */
  finish(input: FinishInput): Promise<boolean>;
  /** A job as its owner reads it; null if the tenant has no such job. */
  jobDetail(input: JobDetailInput): Promise<JsonText<JobDetail> | null>;
  /** Whether this process has accepted or started the job and not yet stored its end. False says nothing of the job. */
  isUnderWay(key: JobKey): boolean;
  /** The result of a job that ended lately, where it is short; null if it has to be read, or there is no such job. */
  shortResult(key: JobKey): JsonText<FoldedResult> | null;
}
