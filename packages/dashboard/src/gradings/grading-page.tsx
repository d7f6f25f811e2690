/** One grading: its programs, the verdict on each program, and the tests. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { GradingDetail } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
import { amountOf, countOf } from '@vouchbox/protocol/words';
import { useState } from 'react';
import { Link } from 'wouter';
import { Facts } from '../parts/facts.tsx';
import { Failure } from '../parts/failure.tsx';
import { Moment } from '../parts/moment.tsx';
import { Page } from '../parts/page.tsx';
import { Panel } from '../parts/panel.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { useToast } from '../parts/toasts.tsx';
import { useCaller } from '../session/session.ts';
import { failureWords } from '../words/failure-words.ts';
import { Judged, RunTests } from './tests.tsx';
import { type EndedTests, useEndedTests } from './use-ended-tests.ts';
import './gradings.css';

const againMilliseconds = 2000;

export function GradingPage({ grading_id }: { readonly grading_id: string }) {
  const { client, isLive } = useCaller();
  const { data: grading, error } = useQuery({
    queryKey: ['grading', grading_id],
    queryFn: ({ signal }) => client.grading(grading_id, { signal }),
    enabled: isLive,
    refetchInterval: ({ state: { data } }) => (data?.finished_at === null ? againMilliseconds : false),
  });
  const isPart = grading?.graded.some(({ status }) => status !== 'judged') ?? false;
  const [ended, refusal] = useEndedTests(grading_id, isPart);
  const name = printable(grading_id, 60);
  return (
    <Page
      title={`Grading ${name}`}
      heading={<span className="id-title mono">{name}</span>}
      actions={grading?.finished_at === null && <Cancel grading_id={grading_id} />}
    >
      {error !== null && <Failure error={error} />}
      {refusal !== null && error === null && <Failure error={refusal} />}
      {grading && <Summary grading={grading} />}
      {grading?.graded.map((program, index) => (
        // Programs have no ids; their place identifies them.
        <Program key={index} program={program} index={index} isAlone={grading.programs === 1} ended={ended} />
      ))}
    </Page>
  );
}

function Cancel({ grading_id }: { readonly grading_id: string }) {
  const { client, whoami } = useCaller();
  const queries = useQueryClient();
  const show = useToast();
  const cancel = useMutation({
    mutationFn: () => client.cancelGrading(grading_id),
    onError: (error) => show(failureWords(error).sentence),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['grading', grading_id] }),
  });
  if (!whoami.scopes.includes('jobs:cancel')) return null;
  return (
    <button className="button" type="button" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
      Cancel
    </button>
  );
}

function Summary({ grading }: { readonly grading: GradingDetail }) {
  const { status, cancellation_requested, programs, tests, runs, runs_ended, created_at, finished_at } = grading;
  return (
    <>
      <div className="row" role="status">
        <StatusBadge status={status} />
        <span>
          {`Runs ${finished_at === null ? 'ended' : 'made'}: ${countOf(runs_ended)} of ${countOf(runs)}.`}
          {cancellation_requested && status === 'running' && ' It is being ended.'}
        </span>
      </div>
      <Panel title="Summary">
        <Facts
          facts={[
            ['Programs', countOf(programs)],
            ['Tests', countOf(tests)],
            ['Created', <Moment key="at" at={created_at} />],
            ['Finished', <Moment key="at" at={finished_at} />],
          ]}
        />
      </Panel>
    </>
  );
}

interface ProgramProps {
  readonly program: GradingDetail['graded'][number];
  readonly index: number;
  /** Whether this is the only program of the grading. */
  readonly isAlone: boolean;
  readonly ended: EndedTests;
}

/** A program. Its tests are read only when somebody opens it, because a grading may have a million tests. */
function Program({ program: { name, language, status, verdict, problem }, index, isAlone, ended }: ProgramProps) {
  const [isOpen, setOpen] = useState(isAlone);
  return (
    <details className="panel" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="row">
        <strong>{name === null ? `Program ${index + 1}` : printable(name, 120)}</strong>
        <span className="small soft">{language}</span>
        <StatusBadge status={verdict === null ? status : verdict.accepted ? 'accepted' : 'rejected'} />
        {verdict !== null && <span>{`${countOf(verdict.points)} of ${amountOf(verdict.points_max, 'point')}`}</span>}
      </summary>
      <div className="stack">
        {problem !== null && <p>{printable(problem)}</p>}
        {isOpen && verdict !== null && <Judged verdict={verdict} />}
        {isOpen && verdict === null && <RunTests tests={[...(ended.get(index)?.values() ?? [])]} />}
        {verdict !== null && (
          <p className="small">
            <Link href={`/jobs/${verdict.job_id}`}>The job that judged</Link> has the verdict, and its attestation signs
            it.
          </p>
        )}
      </div>
    </details>
  );
}
