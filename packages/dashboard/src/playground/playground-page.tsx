/** Where a program is written, run and watched: the program is on one side, its output on the other. */
import './playground.css';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { JobSubmission } from '@vouchbox/client';
import { useEffect, useRef, useState } from 'react';
import { ran, useDraft } from '../draft/draft.ts';
import { submissionOf } from '../draft/draft-submission.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { Failure } from '../parts/failure.tsx';
import { Page } from '../parts/page.tsx';
import { useCaller } from '../session/session.ts';
import { useCapabilities } from '../session/use-capabilities.ts';
import { LanguageFields } from './language-fields.tsx';
import { Options } from './options.tsx';
import { ProgramField } from './program-field.tsx';
import { RunOutput } from './run-output.tsx';
import { WordField } from './word-fields.tsx';

export function PlaygroundPage() {
  const draft = useDraft();
  const job_id = ran.use();
  const { whoami, isLive } = useCaller();
  const capabilities = useQuery(useCapabilities());
  const run = useRun();
  const output = useRef<HTMLDivElement>(null);
  const [first] = useState(job_id);
  useEffect(() => {
    if (job_id !== first) output.current?.scrollIntoView({ block: 'nearest' });
  }, [job_id, first]);
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
        <div className="playground-program">
          <LanguageFields draft={draft} capabilities={capabilities.data} />
          <ProgramField draft={draft} onRun={start} />
          <p className="field-hint">
            <kbd>Tab</kbd> indents; <kbd>Esc</kbd> and then <kbd>Tab</kbd> leaves the editor.
          </p>
          <WordField name="stdin" draft={draft} />
          <Options draft={draft} capabilities={capabilities.data} />
        </div>
        <div className="playground-output" ref={output}>
          {job_id === null ? (
            <p className="playground-empty soft">What the program writes appears here.</p>
          ) : (
            <RunOutput key={job_id} job_id={job_id} />
          )}
        </div>
      </div>
    </Page>
  );
}

/** Submits the draft. A lost answer does no harm, because the client repeats the submission with the same key. */
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
