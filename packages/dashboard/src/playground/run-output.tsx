/** The output of the job that was made last, while it runs and afterwards. */
import { useMutation } from '@tanstack/react-query';
import type { JobStatus } from '@vouchbox/client';
import { Link } from 'wouter';
import { ConnectionState } from '../job/connection-state.tsx';
import type { LogSnapshot } from '../job/job-log.ts';
import { Output } from '../job/output.tsx';
import { useJobLog } from '../job/use-job-log.ts';
import { Violations } from '../job/violations.tsx';
import { Failure } from '../parts/failure.tsx';
import { Panel } from '../parts/panel.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { useCaller } from '../session/session.ts';
import { endWords } from '../words/end-words.ts';

export function RunOutput({ job_id }: { readonly job_id: string }) {
  const { client, whoami } = useCaller();
  const log = useJobLog(job_id);
  const cancel = useMutation({ mutationFn: () => client.cancel(job_id) });
  const { status, words } = standing(log);
  return (
    <Panel
      title="Output"
      actions={
        <div className="row">
          <ConnectionState state={log.state} />
          {!log.isFinished && whoami.scopes.includes('jobs:cancel') && (
            <button className="button" type="button" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
              Cancel
            </button>
          )}
          <Link className="button" href={`/jobs/${job_id}`}>
            Open job
          </Link>
        </div>
      }
    >
      {cancel.isError && <Failure error={cancel.error} />}
      {log.error !== null && <Failure error={log.error} />}
      <p className="row" role="status">
        <StatusBadge status={status} /> {words}
      </p>
      <Output log={log} />
      <Violations log={log} />
    </Panel>
  );
}

/** How the job stands, as far as its events say. */
function standing({ events }: LogSnapshot): { readonly status: JobStatus; readonly words: string } {
  const finished = events.find((event) => event.kind === 'finished');
  const cancellation_requested = events.some(({ kind }) => kind === 'cancel_requested');
  const running = { terminal_reason: null, exit_code: null, signal: null, duration_ms: null, cancellation_requested };
  const status = events.some(({ kind }) => kind === 'started') ? 'running' : 'queued';
  const known = finished === undefined ? { ...running, status } : { ...running, ...finished.data };
  return { status: known.status as JobStatus, words: endWords({ ...known, status: known.status as JobStatus }) };
}
