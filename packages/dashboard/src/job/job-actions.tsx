/** What can be done with a job. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { JobDetail, JobSubmission } from '@vouchbox/client';
import { isTerminal } from '@vouchbox/protocol/vocabulary';
import { useLocation } from 'wouter';
import { openDraft } from '../draft/draft.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { useCopy } from '../parts/copy-button.tsx';
import { useToast } from '../parts/toasts.tsx';
import { useCaller } from '../session/session.ts';
import { failureWords } from '../words/failure-words.ts';

export function JobActions({ job }: { readonly job: JobDetail }) {
  const { whoami } = useCaller();
  const [, open] = useLocation();
  const copy = useCopy();
  const { cancel, again } = useActions(job);
  const submission = submissionOf(job);
  const share = () => copy(location.href, 'the link to this job. It opens for keys of your tenant');
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
            Run again
          </button>
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
          <CopyAs submission={submission} />
        </>
      )}
      <button className="button" type="button" onClick={share}>
        Share link
      </button>
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

/** The submission that made this job; null if the service no longer knows its program. */
function submissionOf({ requested_spec }: JobDetail): JobSubmission | null {
  const { language, code, ...others } = requested_spec;
  return language === undefined || code === undefined ? null : { ...others, language, code };
}
