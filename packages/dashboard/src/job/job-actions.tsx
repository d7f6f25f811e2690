/** Buttons for everything that can be done with a job. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { JobDetail, JobSubmission } from '@vouchbox/client';
import { isTerminal, printable } from '@vouchbox/protocol/vocabulary';
import { useLocation } from 'wouter';
import { openDraft } from '../draft/draft.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { openFold } from '../parts/fold.tsx';
import { useToast } from '../parts/toasts.tsx';
import { useCaller } from '../session/session.ts';
import { failureWords } from '../words/failure-words.ts';
import { FOLDS } from './glance.tsx';
import { submissionOf } from './submission-of.ts';

export function JobActions({ job }: { readonly job: JobDetail }) {
  const { whoami } = useCaller();
  const [, open] = useLocation();
  const { cancel, again } = useActions(job);
  const submission = useSubmission(job);
  const { session } = job.requested_spec;
  return (
    <>
      {!isTerminal(job.status) && whoami.scopes.includes('jobs:cancel') && (
        <button className="button" type="button" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
          Cancel
        </button>
      )}
      {submission !== null && (
        <>
          <button className="button" type="button" disabled={again.isPending} onClick={() => again.mutate(submission)}>
            {session === undefined ? 'Run again' : 'Run without its session'}
          </button>
          {submission.interactor === undefined && submission.build === undefined && (
            <button
              className="button"
              type="button"
              onClick={() => {
                openDraft(submission);
                open('/playground');
              }}
            >
              Edit
            </button>
          )}
          <CopyAs submission={submission} />
        </>
      )}
      <button className="button" type="button" onClick={() => openFold(FOLDS.handedOn)}>
        {FOLDS.handedOn}
      </button>
      {session !== undefined && submission !== null && (
        <p className="small soft">
          A step of the session <code>{printable(session.name)}</code>. Run, edited or copied, it begins with none of
          the variables and files of the steps before.
        </p>
      )}
    </>
  );
}

function useActions({ job_id }: JobDetail) {
  const { client } = useCaller();
  const queries = useQueryClient();
  const [, open] = useLocation();
  const show = useToast();
  const onError = (error: unknown) => show(failureWords(error).sentence);
  const cancel = useMutation({
    mutationFn: () => client.cancel(job_id),
    onError,
    onSuccess: () => queries.invalidateQueries({ queryKey: ['job', job_id] }),
  });
  const again = useMutation({
    mutationFn: (submission: JobSubmission) => client.submit(submission),
    onError,
    onSuccess: (submitted) => open(`/jobs/${submitted.job_id}`),
  });
  return { cancel, again };
}

/** The submission that made this job or its pair of jobs; null while it is unknown, and if it cannot be sent again. */
function useSubmission(job: JobDetail): JobSubmission | null {
  const { client, isLive } = useCaller();
  const { interaction } = job.requested_spec;
  const peer = useQuery({
    queryKey: ['job', interaction?.peer, 'program'],
    queryFn: ({ signal }) => client.detail(interaction?.peer ?? '', { signal }),
    enabled: isLive && interaction !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const own = submissionOf(job);
  if (interaction === undefined) return own;
  const other = peer.data === undefined ? null : submissionOf(peer.data);
  const [program, talker] = interaction.role === 'program' ? [own, other] : [other, own];
  if (program === null || talker === null) return null;
  const { stdin: _, ...interactor } = talker;
  return { ...program, interactor };
}
