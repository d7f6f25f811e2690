/** Ways to pass a job on: as a file that checks itself, by a link that needs no account, or by the address of the job's page. */
import type { JobDetail } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
import { type ReactNode, useId } from 'react';
import { useCopy } from '../parts/copy-button.tsx';
import { Fold } from '../parts/fold.tsx';
import { ExportEvidence } from './export/export-evidence.tsx';
import { FOLDS } from './glance.tsx';
import { Links } from './links.tsx';

export function HandOn({ job: { job_id, tenant, attestation } }: { readonly job: JobDetail }) {
  const copy = useCopy();
  return (
    <Fold title={FOLDS.handedOn} brief="a file with the evidence, a link, or the address of this page">
      <Way title="A file with the evidence">
        {attestation.available ? (
          <ExportEvidence job_id={job_id} />
        ) : (
          <p>There is one once the job is signed. A service that does not sign never has one.</p>
        )}
      </Way>
      <Way title="A link, for somebody without a key">
        <Links job_id={job_id} />
      </Way>
      <Way title="The address of this page, for colleagues">
        <p>
          It shows the job to whoever signs in with a key of the tenant {printable(tenant, 60)}, and to nobody else.
        </p>
        <div className="row">
          <button className="button" type="button" onClick={() => copy(location.href, 'the address of this page')}>
            Copy address
          </button>
        </div>
      </Way>
    </Fold>
  );
}

function Way({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const id = useId();
  return (
    <section className="stack way" aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      {children}
    </section>
  );
}
