/** Everything about one job. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { JobDetail } from '@vouchbox/client';
import { isTerminal, printable } from '@vouchbox/protocol/vocabulary';
import { Failure } from '../parts/failure.tsx';
import { Page } from '../parts/page.tsx';
import { Panel } from '../parts/panel.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { useCaller } from '../session/session.ts';
import { endWords } from '../words/end-words.ts';
import { Artifacts } from './artifacts.tsx';
import { Attestation } from './attestation.tsx';
import { ConnectionState } from './connection-state.tsx';
import { JobActions } from './job-actions.tsx';
import { JobSummary, Limits, Posture, Resources } from './job-facts.tsx';
import type { HistorySnapshot } from './job-history.ts';
import { LogEntry } from './log-entry.tsx';
import { OpenCalls } from './open-calls.tsx';
import { Output } from './output.tsx';
import { Program } from './program.tsx';
import { Receipt } from './receipt.tsx';
import { Timeline } from './timeline.tsx';
import { useJobHistory } from './use-job-history.ts';
import { Violations } from './violations.tsx';
import './job.css';

export function JobPage({ job_id }: { readonly job_id: string }) {
  const history = useJobHistory(job_id);
  const detail = useDetail(job_id, history);
  const job = detail.data;
  const name = printable(job_id, 60);
  return (
    <Page
      title={`Job ${name}`}
      heading={<span className="job-title mono">{name}</span>}
      actions={job && <JobActions job={job} />}
    >
      {detail.isError && <Failure error={detail.error} />}
      {history.error !== null && !detail.isError && <Failure error={history.error} />}
      {job && <JobParts job={job} history={history} />}
    </Page>
  );
}

/**
 * The detail, read again after each step of the job, and while its attestation is not there yet: signing follows the end after
 * a moment.
 */
function useDetail(job_id: string, history: HistorySnapshot) {
  const { client, isLive } = useCaller();
  const steps = history.events.filter(({ kind }) => !BESIDE_STEPS.has(kind)).length;
  return useQuery({
    queryKey: ['job', job_id, steps],
    queryFn: ({ signal }) => client.detail(job_id, { signal }),
    enabled: isLive,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data, dataUpdateCount } }) =>
      data !== undefined && isTerminal(data.status) && !data.attestation.available && dataUpdateCount < signingTries
        ? signingMilliseconds
        : false,
  });
}

/** Events that change nothing of the detail before the end. */
const BESIDE_STEPS: ReadonlySet<string> = new Set([
  'artifact',
  'large_output',
  'violation',
  'tool_call',
  'tool_result',
]);
/** How often, and after how many milliseconds each, the page asks whether the attestation is there. */
const signingTries = 20;
const signingMilliseconds = 700;

function JobParts({ job, history }: { readonly job: JobDetail; readonly history: HistorySnapshot }) {
  const { whoami } = useCaller();
  const hasEnded = isTerminal(job.status);
  const answerers = job.requested_spec.tools?.answered_by ?? [];
  const mayAnswer = answerers.includes(whoami.principal) && whoami.scopes.includes('jobs:submit');
  return (
    <>
      <div className="job-state" role="status">
        <StatusBadge status={job.status} />
        <span>{endWords(job)}</span>
      </div>
      <Panel title="Output" isWide actions={<ConnectionState state={history.state} />}>
        <Output history={history} />
      </Panel>
      {mayAnswer && <OpenCalls job_id={job.job_id} history={history} />}
      <Violations history={history} />
      <div className="panels">
        <Panel title="Summary">
          <JobSummary job={job} />
        </Panel>
        <Panel title="Timeline">
          <Timeline history={history} />
        </Panel>
        <Artifacts job={job} hasEnded={hasEnded} history={history} />
        <Panel title="What held the program">
          <Posture job={job} />
        </Panel>
        <Panel title="Resources">
          <Resources job={job} />
        </Panel>
        <Panel title="Limits">
          <Limits job={job} />
        </Panel>
        {hasEnded && <Attestation job={job} />}
        {job.attestation.available && <LogEntry job_id={job.job_id} />}
        {job.receipt !== undefined && <Receipt receipt={job.receipt} />}
        <Program spec={job.requested_spec} />
      </div>
    </>
  );
}
