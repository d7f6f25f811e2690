/** The signature over a job, checked here against keys that the person pinned. */
import { useQuery } from '@tanstack/react-query';
import type { JobDetail } from '@vouchbox/client';
import { Failure } from '../parts/failure.tsx';
import { Notice } from '../parts/notice.tsx';
import { Panel } from '../parts/panel.tsx';
import { usePinnedKeys } from '../session/pinned-keys.ts';
import { useCaller } from '../session/session.ts';
import { amountOf } from '../words/amounts.ts';
import { CanaryLine } from './canary-line.tsx';
import { checkJob } from './check/check-job.ts';
import { CheckReport } from './check-report.tsx';
import { PinKeys } from './pin-keys.tsx';

export function Attestation({ job }: { readonly job: JobDetail }) {
  const { available, key_id, result_sha256 } = job.attestation;
  if (!available) {
    return (
      <Panel title="Attestation" isWide>
        <p className="soft">There is no signature yet. A service that does not sign never has one.</p>
      </Panel>
    );
  }
  return (
    <Panel title="Attestation" isWide>
      <p className="digest">
        Signed by <code>{key_id}</code>, about the result <code>sha256:{result_sha256}</code>
      </p>
      <CanaryLine job_id={job.job_id} />
      <PinKeys />
      <Verdict job_id={job.job_id} />
    </Panel>
  );
}

function Verdict({ job_id }: { readonly job_id: string }) {
  const { client, whoami, isLive } = useCaller();
  const pinned = usePinnedKeys();
  const { tenant } = whoami;
  const check = useQuery({
    queryKey: ['checked', job_id, tenant, pinned.map(({ key_id }) => key_id)],
    queryFn: ({ signal }) => checkJob({ client, job_id, tenant, pinned, signal }),
    enabled: isLive,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (check.isError) return <Failure error={check.error} />;
  if (check.data === undefined) return <p role="status">{pinned.length > 0 ? 'Checking…' : 'Checking the record…'}</p>;
  if (pinned.length > 0 || check.data.exitCode !== 0) return <CheckReport report={check.data} />;
  return (
    <Notice tone="quiet">
      <p>
        The record is whole: {amountOf(check.data.eventCount, 'link')} of the chain and the receipt were recomputed
        here. Who made it is not known until you pin a key.
      </p>
    </Notice>
  );
}
