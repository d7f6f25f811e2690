/**
 * Reports the events of jobs to the operator's instruments. This module wraps the stages of a job, and no stage knows about it. A
 * job's end is reported as stored, whichever stage ended the job. Canaries belong to no tenant and are not counted.
 */
import { CANARY_TENANT } from '@vouchbox/evidence';
import { isTerminal } from '@vouchbox/protocol';
import type { JobKey } from '../store/records/rows.ts';
import type { Store } from '../store/store.ts';
import type { LastHour } from '../telemetry/last-hour.ts';
import type { Log } from '../telemetry/log/log.ts';
import type { Observer } from '../telemetry/observer.ts';
import type { Cells } from './execute/cells.ts';
import type { History } from './history.ts';

export interface ObservedOptions {
  readonly store: Pick<Store, 'jobSummary'>;
  readonly observer: Observer;
  readonly log: Log;
}

/** A history that reports each stored change to an observer. */
export function observedHistory(history: History, { store, observer, log }: ObservedOptions): History {
  const committed = async <Answer>(change: Promise<Answer>): Promise<Answer> => {
    const began = performance.now();
    const answer = await change;
    observer.changeCommitted((performance.now() - began) / 1000);
    return answer;
  };
  const ended = async (key: JobKey): Promise<void> => {
    const job = await store.jobSummary(key);
    if (job === null || !isTerminal(job.status) || job.finished_at === null) return;
    observer.jobEnded({ ...job, status: job.status, finished_at: job.finished_at });
  };
  // Nothing waits for this, because counting must not delay a job.
  const tellEnd = (key: JobKey) =>
    void ended(key).catch((error: unknown) => log.debug({ err: error, job_id: key.job_id }, 'an end was not counted'));
  return {
    ...history,
    async admit(input) {
      const result = await committed(history.admit(input));
      if (result.kind !== 'created' || input.tenant === CANARY_TENANT) return result;
      for (const { job_id, requested_spec } of [input, ...(input.interactor ? [input.interactor] : [])])
        observer.jobAdmitted({ job_id, language: requested_spec.language });
      return result;
    },
    start: (input) => committed(history.start(input)),
    append: (key, events) => committed(history.append(key, events)),
    async finish(input) {
      // An end that may wait for another change says nothing about the disk.
      const stored = history.finish(input);
      const isStored = await (input.mayWait === true ? stored : committed(stored));
      if (isStored && input.tenant !== CANARY_TENANT) tellEnd(input);
      return isStored;
    },
    async requestCancel(input) {
      const result = await committed(history.requestCancel(input));
      if (result.kind !== 'cancelled') return result;
      tellEnd(input);
      if (result.peer !== undefined) tellEnd({ ...input, job_id: result.peer });
      return result;
    },
  };
}

/** A history that counts starts and ends as they are stored, without asking the store. */
export function countedHistory(history: History, hour: Pick<LastHour, 'started' | 'ended'>): History {
  return {
    ...history,
    async admit(input) {
      const result = await history.admit(input);
      if (result.kind === 'created' && input.start !== undefined) hour.started({ ...input, ...input.start });
      return result;
    },
    async start(input) {
      const isStored = await history.start(input);
      if (isStored) hour.started(input);
      return isStored;
    },
    async finish(input) {
      const isStored = await history.finish(input);
      if (isStored) hour.ended(input);
      return isStored;
    },
    async requestCancel(input) {
      const result = await history.requestCancel(input);
      if (result.kind === 'cancelled') hour.ended({ ...input, status: 'cancelled', duration_ms: null });
      return result;
    },
  };
}

/** The same cells, with an observer that learns how long each preparation took and whether the cell became ready. */
export function observedCells(cells: Cells, observer: Observer): Cells {
  return {
    isReady: () => cells.isReady(),
    proven: () => cells.proven(),
    take(kind) {
      const cell = cells.take(kind);
      if (cell !== null) observer.cellPrepared({ language: kind.language, seconds: 0, isReady: true });
      return cell;
    },
    async prepare(request) {
      const began = performance.now();
      const { language } = request;
      const told = (isReady: boolean) =>
        observer.cellPrepared({ language, seconds: (performance.now() - began) / 1000, isReady });
      try {
        const cell = await cells.prepare(request);
        told(true);
        return cell;
      } catch (error) {
        told(false);
        throw error;
      }
    },
  };
}
