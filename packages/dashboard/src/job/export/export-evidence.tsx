/** Saves a job as one file, with everything that is needed to check the job without this service and without a credential. */
import { useMutation } from '@tanstack/react-query';
import { printable } from '@vouchbox/protocol/vocabulary';
import { useState } from 'react';
import { Failure } from '../../parts/failure.tsx';
import { Notice } from '../../parts/notice.tsx';
import { saveBlob } from '../../parts/save-bytes.ts';
import { usePinnedKeys } from '../../session/pinned-keys.ts';
import { useCaller } from '../../session/session.ts';
import { type EvidenceWish, readEvidence } from './read-evidence.ts';

/** The most milliseconds for an export: a job's files have up to 64 MiB, which may come over a slow line. */
const exportMilliseconds = 600_000;

/** Offers to save a signed job with its evidence. */
export function ExportEvidence({ job_id }: { readonly job_id: string }) {
  const { client, isLive } = useCaller();
  const pinned = usePinnedKeys();
  const [isEvidenceOnly, setEvidenceOnly] = useState(false);
  const exporting = useMutation({
    mutationFn: (form: EvidenceWish['form']) =>
      readEvidence({ client, job_id, pinned, isEvidenceOnly, form, signal: AbortSignal.timeout(exportMilliseconds) }),
    onSuccess: ({ file }, form) => saveBlob(file, `${job_id}.${form}`),
  });
  const isBusy = exporting.isPending || !isLive;
  return (
    <>
      <p>
        The page opens by a double click, checks itself without a network and needs no account. It trusts no key that
        comes with it: whoever gets it pins the public key of this service, which must come another way.
      </p>
      <label className="row small">
        <input type="checkbox" checked={!isEvidenceOnly} onChange={(event) => setEvidenceOnly(!event.target.checked)} />
        With the program, its input and its files
      </label>
      <p className="small soft">Events and output are always in it, and calls of tools.</p>
      <div className="row">
        <button className="button primary" type="button" disabled={isBusy} onClick={() => exporting.mutate('html')}>
          {exporting.isPending ? 'Packing…' : 'Save as a page'}
        </button>
        <button className="button" type="button" disabled={isBusy} onClick={() => exporting.mutate('zip')}>
          Save as a zip
        </button>
      </div>
      {exporting.isError && <Failure error={exporting.error} />}
      {exporting.isSuccess && exporting.data.missing.length > 0 && (
        <Notice tone="warn">
          <p>
            The service has not kept {exporting.data.missing.map((path) => printable(path, 120)).join(', ')}. The
            receipt has the digest.
          </p>
        </Notice>
      )}
    </>
  );
}
