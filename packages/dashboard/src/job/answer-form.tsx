/** Answers a tool call by hand: with a result (JSON) or with an error (text). */
import { useMutation } from '@tanstack/react-query';
import { type SubmitEvent, useId, useState } from 'react';
import { typedJson } from '../draft/typed-json.ts';
import { Failure } from '../parts/failure.tsx';
import { useCaller } from '../session/session.ts';

type Kind = 'result' | 'error';

interface AnswerFormProps {
  readonly job_id: string;
  /** The number of the call's event. */
  readonly seq: number;
}

export function AnswerForm({ job_id, seq }: AnswerFormProps) {
  const id = useId();
  const { client, isLive } = useCaller();
  const [kind, setKind] = useState<Kind>('result');
  const [text, setText] = useState('');
  const answering = useMutation({
    mutationFn: async () =>
      client.answerToolCall(job_id, seq, kind === 'error' ? { error: text } : { result: resultIn(text) }),
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    answering.mutate();
  };
  if (answering.isSuccess) return <p role="status">The answer was taken.</p>;
  return (
    <form className="field" onSubmit={submit}>
      <div className="row">
        <label htmlFor={id}>Answer</label>
        <select
          className="input answer-kind"
          aria-label="Kind of answer"
          value={kind}
          onChange={(event) => setKind(event.target.value as Kind)}
        >
          <option value="result">result, as JSON</option>
          <option value="error">error, as text</option>
        </select>
      </div>
      <textarea
        id={id}
        className="input"
        rows={3}
        spellCheck={false}
        placeholder={kind === 'result' ? '{"pages": []}' : 'why the tool failed'}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {answering.isError && <Failure error={answering.error} />}
      <div className="row">
        <button className="button" type="submit" disabled={!isLive || answering.isPending || text.trim() === ''}>
          {answering.isPending ? 'Answering…' : 'Answer'}
        </button>
      </div>
    </form>
  );
}

function resultIn(text: string): unknown {
  const typed = typedJson(text);
  if ('problem' in typed) throw new Error(`The result ${typed.problem}.`);
  return typed.value;
}
