/** The tool calls that wait for an answer, oldest first, each with a form for the answer. Shows nothing if no call waits. */
import { amountOf } from '@vouchbox/protocol/words';
import { Panel } from '../parts/panel.tsx';
import { AnswerForm } from './answer-form.tsx';
import { Call } from './call.tsx';
import type { HistorySnapshot } from './job-history.ts';
import { openCallsOf, stepsOf } from './steps.ts';

/** How many open calls are shown. A program may have thousands; the next ones appear when these are answered. */
const shownMax = 10;

export function OpenCalls({ job_id, history }: { readonly job_id: string; readonly history: HistorySnapshot }) {
  const hasEnded = history.isFinished || history.events.some(({ kind }) => kind === 'finished');
  const open = hasEnded ? [] : openCallsOf(stepsOf(history.events));
  if (open.length === 0) return null;
  return (
    <Panel title="The program waits for you" isWide>
      <ul className="stack">
        {open.slice(0, shownMax).map((call) => (
          <li key={call.seq} className="stack-small">
            <Call call={call} answer={null} hasEnded={false} />
            <AnswerForm job_id={job_id} seq={call.seq} />
          </li>
        ))}
      </ul>
      {open.length > shownMax && <p className="soft">{amountOf(open.length - shownMax, 'more call')} wait.</p>}
    </Panel>
  );
}
