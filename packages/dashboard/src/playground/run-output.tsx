/** The output of the most recent job, while it runs and afterwards. */
import { useMutation } from '@tanstack/react-query';
import { amountOf, endWords } from '@vouchbox/protocol/words';
import { useState } from 'react';
import { Link } from 'wouter';
import { editDraft } from '../draft/draft.ts';
import { ConnectionState } from '../job/connection-state.tsx';
import type { HistorySnapshot } from '../job/job-history.ts';
import { MissingLibrary } from '../job/missing-library.tsx';
import { OpenCalls } from '../job/open-calls.tsx';
import { Output } from '../job/output.tsx';
import { Timeline } from '../job/timeline.tsx';
import { useJobHistory } from '../job/use-job-history.ts';
import { Violations } from '../job/violations.tsx';
import { Failure } from '../parts/failure.tsx';
import { Fold } from '../parts/fold.tsx';
import { Panel } from '../parts/panel.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { useCaller } from '../session/session.ts';

export function RunOutput({ job_id }: { readonly job_id: string }) {
  const { client, whoami } = useCaller();
  const history = useJobHistory(job_id);
  const cancel = useMutation({ mutationFn: () => client.cancel(job_id) });
  const turned = useState<number | null>(null);
  const { status, words } = standing(history);
  const calls = history.events.filter(({ kind }) => kind === 'tool_call').length;
  return (
    <Panel
      title="Output"
      actions={
        <div className="row">
          {!history.isFinished && <ConnectionState state={history.state} />}
          {!history.isFinished && whoami.scopes.includes('jobs:cancel') && (
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
      {history.error !== null && <Failure error={history.error} />}
      <p className="row" role="status">
        <StatusBadge status={status} /> {words}
      </p>
      {whoami.scopes.includes('jobs:submit') && <OpenCalls job_id={job_id} history={history} />}
      <Violations history={history} />
      <MissingLibrary history={history} onChoose={(runtime) => editDraft({ runtime })} />
      <Output job_id={job_id} history={history} turned={turned} />
      {calls > 0 && (
        <Fold title="Calls of tools" brief={amountOf(calls, 'call')}>
          <Timeline history={history} only="calls" />
        </Fold>
      )}
    </Panel>
  );
}

/** The job's status according to the events so far. */
function standing({ events }: HistorySnapshot): { readonly status: string; readonly words: string } {
  const finished = events.find((event) => event.kind === 'finished');
  const cancellation_requested = events.some(({ kind }) => kind === 'cancel_requested');
  const status = events.some(({ kind }) => kind === 'started') ? 'running' : 'queued';
  const known = { status, cancellation_requested, ...finished?.data };
  return { status: known.status, words: endWords(known) };
}
