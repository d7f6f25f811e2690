/** Everything about one job. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { JobDetail } from '@vouchbox/client';
import { isTerminal, printable } from '@vouchbox/protocol/vocabulary';
import { amountOf, heldWords, observedOf } from '@vouchbox/protocol/words';
import { Failure } from '../parts/failure.tsx';
import { Fold } from '../parts/fold.tsx';
import { Page } from '../parts/page.tsx';
import { useCaller } from '../session/session.ts';
import { Artifacts } from './artifacts.tsx';
import { Attestation } from './attestation.tsx';
import { FOLDS, Glance } from './glance.tsx';
import { HandOn } from './hand-on.tsx';
import { JobActions } from './job-actions.tsx';
import { JobSummary, Limits, Posture, Resources, usedWords } from './job-facts.tsx';
import type { HistorySnapshot } from './job-history.ts';
import { LogEntry } from './log-entry.tsx';
import { MissingLibrary } from './missing-library.tsx';
import { OpenCalls } from './open-calls.tsx';
import { Output } from './output.tsx';
import { Program } from './program.tsx';
import { Receipt } from './receipt.tsx';
import { recheckMilliseconds } from './signing-words.ts';
import { Timeline } from './timeline.tsx';
import { useSigns } from './use-check.ts';
import { useJobHistory } from './use-job-history.ts';
import { useLineAddress } from './use-line-address.ts';
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
      heading={<span className="id-title mono">{name}</span>}
      actions={job && <JobActions job={job} />}
    >
      {detail.isError && <Failure error={detail.error} />}
      {history.error !== null && !detail.isError && <Failure error={history.error} />}
      {job && <JobParts job={job} history={history} />}
    </Page>
  );
}

/**
 * The detail. It is read again after each step of the job, and then until the attestation is there, because the service signs
 * a moment after the end.
 */
function useDetail(job_id: string, history: HistorySnapshot) {
  const { client, isLive } = useCaller();
  const signs = useSigns();
  const steps = history.events.filter(({ kind }) => !BESIDE_STEPS.has(kind)).length;
  return useQuery({
    queryKey: ['job', job_id, steps],
    queryFn: ({ signal }) => client.detail(job_id, { signal }),
    enabled: isLive,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data, dataUpdateCount } }) =>
      recheckMilliseconds(data, { signs, asked: dataUpdateCount }),
  });
}

/** Events that do not change the detail before the job ends. */
const BESIDE_STEPS: ReadonlySet<string> = new Set([
  'artifact',
  'large_output',
  'violation',
  'tool_call',
  'tool_result',
]);

function JobParts({ job, history }: { readonly job: JobDetail; readonly history: HistorySnapshot }) {
  const { whoami } = useCaller();
  const turned = useLineAddress();
  const { job_id, requested_spec, receipt, attestation } = job;
  const hasEnded = isTerminal(job.status);
  const answerers = requested_spec.tools?.answered_by ?? [];
  const mayAnswer = answerers.includes(whoami.principal) && whoami.scopes.includes('jobs:submit');
  return (
    <>
      <Glance job={job} history={history} />
      {mayAnswer && <OpenCalls job_id={job_id} history={history} />}
      <Violations history={history} />
      <MissingLibrary history={history} />
      <section aria-label="Output">
        <Output job_id={job_id} history={history} turned={turned} />
      </section>
      <Artifacts job={job} hasEnded={hasEnded} history={history} />
      <div className="folds">
        <Program spec={requested_spec} />
        <Fold title="Timeline" brief={`${amountOf(history.events.length, 'event')} beside the output`}>
          <Timeline history={history} />
        </Fold>
        <Fold title={FOLDS.held} brief={heldWords(observedOf(job)).more}>
          <Posture job={job} />
        </Fold>
        <Fold title="Resources and limits" brief={usedWords(job)}>
          <Resources job={job} />
          <Limits job={job} />
        </Fold>
        <Attestation job={job} />
        {attestation.available && <LogEntry job_id={job_id} />}
        <HandOn job={job} />
        {receipt !== undefined && <Receipt receipt={receipt} />}
        <Fold title="Details" brief={printable(job.tenant, 60)}>
          <JobSummary job={job} />
        </Fold>
      </div>
    </>
  );
}
