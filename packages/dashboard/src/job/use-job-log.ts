/** The log of a job while a view shows it. Logs of the last few jobs are kept, so that going back shows them at once. */
import { useEffect, useSyncExternalStore } from 'react';
import { noticeRefusal, useCaller } from '../session/session.ts';
import { JobLog, type LogSnapshot } from './job-log.ts';

const logsMax = 4;

/** One log for each tenant and job: another tenant's log is never shown. */
const logs = new Map<string, JobLog>();

function logOf(tenant: string, job_id: string): JobLog {
  const key = JSON.stringify([tenant, job_id]);
  const log = logs.get(key) ?? new JobLog(job_id);
  logs.delete(key);
  logs.set(key, log);
  for (const oldest of logs.keys()) {
    if (logs.size <= logsMax) break;
    logs.delete(oldest);
  }
  return log;
}

/** Forgets the logs of all jobs, when somebody signs out. */
export function forgetJobLogs(): void {
  logs.clear();
}

export function useJobLog(job_id: string): LogSnapshot {
  const { client, whoami, isLive } = useCaller();
  const log = logOf(whoami.tenant, job_id);
  useEffect(() => {
    if (!isLive || log.snapshot().isFinished) return;
    const abort = new AbortController();
    log.follow(client, abort.signal).catch(noticeRefusal);
    return () => abort.abort();
  }, [log, client, isLive]);
  return useSyncExternalStore(log.subscribe, log.snapshot);
}
