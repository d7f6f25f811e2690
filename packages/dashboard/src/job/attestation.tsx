/** The signature on a job, checked in the page against keys that the person pinned. */
import type { JobDetail } from '@vouchbox/client';
import { amountOf } from '@vouchbox/protocol/words';
import { Failure } from '../parts/failure.tsx';
import { Fold } from '../parts/fold.tsx';
import { Notice } from '../parts/notice.tsx';
import { CanaryLine } from './canary-line.tsx';
import { CheckReport } from './check-report.tsx';
import { FOLDS } from './glance.tsx';
import { PinKeys } from './pin-keys.tsx';
import { useCheck } from './use-check.ts';

export function Attestation({ job }: { readonly job: JobDetail }) {
  const { check, isPinned, signed } = useCheck(job);
  const { available, key_id, result_sha256 } = job.attestation;
  const isBroken = check.data !== undefined && check.data.exitCode !== 0;
  return (
    <Fold title={FOLDS.signed} brief={signed.word} isUrgent={isBroken}>
      {available ? (
        <>
          <p className="digest">
            Signed by <code>{key_id}</code>, about the result <code>sha256:{result_sha256}</code>
          </p>
          <CanaryLine job_id={job.job_id} />
          <PinKeys />
          <Verdict check={check} isPinned={isPinned} />
        </>
      ) : (
        <p className="soft">{signed.sentence}</p>
      )}
    </Fold>
  );
}

function Verdict({ check, isPinned }: Pick<ReturnType<typeof useCheck>, 'check' | 'isPinned'>) {
  if (check.isError) return <Failure error={check.error} />;
  if (check.data === undefined) return <p role="status">{isPinned ? 'Checking…' : 'Checking the record…'}</p>;
  if (isPinned || check.data.exitCode !== 0) return <CheckReport report={check.data} />;
  return (
    <Notice tone="quiet">
      <p>
        The record is whole: {amountOf(check.data.eventCount, 'ring')} of the chain and the receipt were recomputed
        here. Who made it is not known until you pin a key.
      </p>
    </Notice>
  );
}
