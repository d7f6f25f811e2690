/** One tool call and its outcome. Arguments and answers are shown as text, whatever they contain. */
import { printable, printableJson, printableText } from '@vouchbox/protocol/vocabulary';
import { durationOf } from '@vouchbox/protocol/words';
import { memo } from 'react';
import { Folded } from '../parts/folded.tsx';
import type { ToolCall, ToolResult } from './steps.ts';

interface CallProps {
  readonly call: ToolCall;
  /** The answer to the call; null until somebody has answered. */
  readonly answer: ToolResult | null;
  /** Whether the job has ended, so that nobody can answer any longer. */
  readonly hasEnded: boolean;
}

export const Call = memo(({ call, answer, hasEnded }: CallProps) => {
  const { tool, refused } = call.data;
  const isOpen = answer === null && refused === undefined && !hasEnded;
  return (
    <div className="call">
      <span className="timeline-what">
        Called <code>{printable(tool, 80)}</code>{' '}
        {isOpen && <span className="badge tone-busy">waits for an answer</span>}
      </span>
      <Folded name="Arguments" text={printableJson(call.data.arguments ?? null, 2)} />
      {refused !== undefined && <Folded name="Refused by the service" text={printableText(refused)} />}
      {answer !== null && <Answer call={call} answer={answer} />}
      {answer === null && refused === undefined && hasEnded && <p className="small soft">Nobody answered.</p>}
    </div>
  );
});

function Answer({ call, answer }: { readonly call: ToolCall; readonly answer: ToolResult }) {
  const { result = null, error, principal } = answer.data;
  const milliseconds = Date.parse(answer.timestamp) - Date.parse(call.timestamp);
  return (
    <>
      {error === undefined ? (
        <Folded name="Result" text={printableJson(result, 2)} />
      ) : (
        <Folded name="Error" text={printableText(error)} />
      )}
      <span className="small soft">
        answered by {printable(principal, 80)} after {durationOf(milliseconds)} · event {answer.seq}
      </span>
    </>
  );
}
