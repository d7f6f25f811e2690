/** What can be done with a job. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { JobDetail, JobSubmission } from '@vouchbox/client';
import { isTerminal } from '@vouchbox/protocol/vocabulary';
import { useLocation } from 'wouter';
import { openDraft } from '../draft/draft.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { useCopy } from '../parts/copy-button.tsx';
import { useToast } from '../parts/toasts.tsx';
import { useCaller } from '../session/session.ts';
import { failureWords } from '../words/failure-words.ts';
import { ExportEvidence } from './export/export-evidence.tsx';

export function JobActions({ job }: { readonly job: JobDetail }) {
  const { whoami } = useCaller();
  const [, open] = useLocation();
  const copy = useCopy();
  const { cancel, again } = useActions(job);
  const submission = useSubmission(job);
  const share = () => copy(location.href, 'the link to this job. It opens for keys of your tenant');
  return (
    <>
      <ExportEvidence job={job} />
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
          {submission.interactor === undefined && (
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

/** The submission that made this job, or the pair that it belongs to; null as long as it is not known, or cannot be sent. */
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

/** Null if the service no longer knows the program, or keeps an input to itself. */
function submissionOf({ requested_spec }: JobDetail): JobSubmission | null {
  const { language, code, interaction: _, files = [], named_stdin: named, tools, ...others } = requested_spec;
  const given = files.filter((file) => !('held' in file));
  if (language === undefined || code === undefined || given.length < files.length) return null;
  const stdin = named ?? others.stdin;
  const called = tools && {
    tools: tools.tools,
    tool_limits: tools.limits,
    tool_principals: tools.answered_by.slice(1),
  };
  return { ...others, ...(stdin !== undefined && { stdin }), ...called, files: given, language, code };
}
