/** A job's history while a view shows it. The last few jobs' histories are kept, so that going back shows them at once. */
import { useEffect, useSyncExternalStore } from 'react';
import { noticeRefusal, useCaller } from '../session/session.ts';
import { type HistorySnapshot, JobHistory } from './job-history.ts';

const historiesMax = 4;

/** One history for each tenant and job, so that another tenant's history is never shown. */
const histories = new Map<string, JobHistory>();

function historyOf(tenant: string, job_id: string): JobHistory {
  const key = JSON.stringify([tenant, job_id]);
  const history = histories.get(key) ?? new JobHistory(job_id);
  histories.delete(key);
  histories.set(key, history);
  for (const oldest of histories.keys()) {
    if (histories.size <= historiesMax) break;
    histories.delete(oldest);
  }
  return history;
}

/** Forgets all jobs' histories when somebody signs out. */
export function forgetHistories(): void {
  histories.clear();
}

export function useJobHistory(job_id: string): HistorySnapshot {
  const { client, whoami, isLive } = useCaller();
  const history = historyOf(whoami.tenant, job_id);
  useEffect(() => {
    if (!isLive || history.snapshot().isFinished) return;
    const abort = new AbortController();
    history.follow(client, abort.signal).catch(noticeRefusal);
    return () => abort.abort();
  }, [history, client, isLive]);
  return useSyncExternalStore(history.subscribe, history.snapshot);
}
