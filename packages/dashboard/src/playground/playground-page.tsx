/** Where a program is written, run and watched. */
import './playground.css';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { JobSubmission } from '@vouchbox/client';
import { ran, submissionOf, useDraft } from '../draft/draft.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { Failure } from '../parts/failure.tsx';
import { Page } from '../parts/page.tsx';
import { useCaller } from '../session/session.ts';
import { useCapabilities } from '../session/use-capabilities.ts';
import { FilesField } from './files-field.tsx';
import { LanguageFields } from './language-fields.tsx';
import { LimitFields } from './limit-fields.tsx';
import { ProgramField } from './program-field.tsx';
import { RunOutput } from './run-output.tsx';
import { ToolFields } from './tool-fields.tsx';
import { WordFields } from './word-fields.tsx';

export function PlaygroundPage() {
  const draft = useDraft();
  const job_id = ran.use();
  const { whoami, isLive } = useCaller();
  const capabilities = useQuery(useCapabilities());
  const run = useRun();
  const mayRun = isLive && whoami.scopes.includes('jobs:submit');
  const start = () => {
    if (mayRun && !run.isPending) run.mutate(submissionOf(draft));
  };
  return (
    <Page
      title="Playground"
      actions={
        <>
          <CopyAs submission={submissionOf(draft)} />
          <button className="button primary" type="button" disabled={!mayRun || run.isPending} onClick={start}>
            {run.isPending ? 'Submitting…' : 'Run'} <kbd className="playground-key">Ctrl ⏎</kbd>
          </button>
        </>
      }
    >
      {run.isError && <Failure error={run.error} />}
      <div className="playground">
        <div className="stack">
          <LanguageFields draft={draft} capabilities={capabilities.data} />
          <ProgramField draft={draft} onRun={start} />
          {job_id !== null && <RunOutput key={job_id} job_id={job_id} />}
        </div>
        <div className="playground-side stack">
          <WordFields draft={draft} />
          {capabilities.data?.tools && <ToolFields tools={draft.tools} />}
          <FilesField files={draft.files} />
          <LimitFields limits={draft.limits} bounds={capabilities.data?.limits} />
        </div>
      </div>
    </Page>
  );
}

/** Submits the draft. An answer that is lost does no harm: the client repeats the submission with the same key. */
function useRun() {
  const { client } = useCaller();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (submission: JobSubmission) => client.submit(submission),
    onSuccess: ({ job_id }) => {
      ran.set(job_id);
      return queries.invalidateQueries({ queryKey: ['jobs', 'newest'] });
    },
  });
}
