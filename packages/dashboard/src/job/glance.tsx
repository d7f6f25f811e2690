/** The top of a job's page: what ran, how it ended, what isolated it, and whether its result is signed. */
import type { JobDetail } from '@vouchbox/client';
import { firstLineOf, printable } from '@vouchbox/protocol/vocabulary';
import { endWords, heldWords, observedOf } from '@vouchbox/protocol/words';
import type { ReactNode } from 'react';
import { Labels } from '../jobs/labels.tsx';
import { openFold } from '../parts/fold.tsx';
import { Moment } from '../parts/moment.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { ConnectionState } from './connection-state.tsx';
import type { HistorySnapshot } from './job-history.ts';
import { useCheck } from './use-check.ts';

/** The titles of the folds that can be opened by a button elsewhere. */
export const FOLDS = {
  program: 'Program',
  held: 'What held the program',
  signed: 'Attestation',
  handedOn: 'Hand it on',
} as const;

export function Glance({ job, history }: { readonly job: JobDetail; readonly history: HistorySnapshot }) {
  const { signed } = useCheck(job);
  const held = heldWords(observedOf(job));
  return (
    <div className="glance">
      <Part title="Ran" more={FOLDS.program}>
        <code className="glance-code">{firstLineOf(job.requested_spec.code ?? '') ?? '—'}</code>
        <span className="small soft">
          {job.language}
          {job.runtime !== null && `, ${printable(job.runtime, 60)}`} · <Moment at={job.created_at} />
        </span>
        <span className="glance-labels">
          <Labels labels={job.requested_spec.labels ?? []} />
        </span>
      </Part>
      <Part title={job.finished_at === null ? 'State' : 'Ended'}>
        <span className="row job-state" role="status">
          <StatusBadge status={job.status} />
          {!history.isFinished && <ConnectionState state={history.state} />}
          <span className="small">{endWords(job)}</span>
        </span>
      </Part>
      <Part title="Held by" more={FOLDS.held}>
        <span className={held.isWeak ? 'glance-bad' : undefined}>{held.sentence}</span>
        <span className="small soft">{held.more}</span>
      </Part>
      <Part title="Signed" more={FOLDS.signed}>
        <span className={`badge tone-${signed.tone}`}>{signed.word}</span>
        <span className="small soft digest">{signed.sentence}</span>
      </Part>
    </div>
  );
}

interface PartProps {
  readonly title: string;
  /** The title of the fold with more details. */
  readonly more?: string;
  readonly children: ReactNode;
}

function Part({ title, more, children }: PartProps) {
  return (
    <div className="glance-part">
      <h2 className="glance-title">
        {title}
        {more !== undefined && (
          <button className="link small" type="button" aria-label={`More: ${more}`} onClick={() => openFold(more)}>
            more
          </button>
        )}
      </h2>
      {children}
    </div>
  );
}
