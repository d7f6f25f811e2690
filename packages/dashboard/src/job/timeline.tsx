/** A job's events, step by step, without the output, which another part of the page shows. */
import { printable } from '@vouchbox/protocol/vocabulary';
import { durationOf, sizeOf } from '@vouchbox/protocol/words';
import { useMemo, useState } from 'react';
import { Moment } from '../parts/moment.tsx';
import { Call } from './call.tsx';
import type { HistorySnapshot, StepEvent } from './job-history.ts';
import { callsOf, type Step, stepsOf } from './steps.ts';

/** How many steps are shown at first, and how many more each time. A program may call tools thousands of times. */
const stepsAtOnce = 100;

interface TimelineProps {
  readonly history: HistorySnapshot;
  readonly only?: 'calls';
}

export function Timeline({ history: { events, isFinished }, only }: TimelineProps) {
  const [shown, setShown] = useState(stepsAtOnce);
  const all = useMemo(() => stepsOf(events), [events]);
  const steps = only === 'calls' ? callsOf(all) : all;
  const begun = Date.parse(events[0]?.timestamp ?? '');
  const hasEnded = isFinished || events.at(-1)?.kind === 'finished';
  if (steps.length === 0) return <p className="soft">Nothing is known yet.</p>;
  const earlier = Math.max(steps.length - shown, 0);
  return (
    <>
      {earlier > 0 && (
        <button className="button" type="button" onClick={() => setShown(shown + stepsAtOnce)}>
          Show {Math.min(earlier, stepsAtOnce)} of {earlier} earlier steps
        </button>
      )}
      <ol className="timeline" start={earlier + 1}>
        {steps.slice(earlier).map((step) => (
          <li key={step.event.seq}>
            <StepContent step={step} hasEnded={hasEnded} />
            <span className="small soft">
              <Moment at={step.event.timestamp} /> · +{durationOf(Date.parse(step.event.timestamp) - begun)} · event{' '}
              {step.event.seq}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

function StepContent({ step: { event, answer }, hasEnded }: { readonly step: Step; readonly hasEnded: boolean }) {
  if (event.kind === 'tool_call') return <Call call={event} answer={answer} hasEnded={hasEnded} />;
  return <span className="timeline-what">{stepWords(event)}</span>;
}

function stepWords(event: Exclude<StepEvent, { readonly kind: 'tool_call' }>): string {
  switch (event.kind) {
    case 'queued':
      return `Queued: ${event.data.language}, ${isolationWords(event.data.requirements.minimum_isolation)}`;
    case 'started':
      return `Started in ${event.data.backend}, ${event.data.isolation_class ?? 'isolation not observed'}`;
    case 'cancel_requested':
      return `Cancellation asked for by ${printable(event.data.principal, 80)}`;
    case 'artifact':
    case 'large_output':
      return `File kept: ${printable(event.data.path, 120)}, ${sizeOf(event.data.size_bytes)}`;
    case 'violation':
      return `Violation: ${event.data.type}`;
    case 'truncated':
      return `Output of ${event.data.stream} cut: ${sizeOf(event.data.bytes_stored)} of ${sizeOf(event.data.bytes_seen)} kept`;
    case 'tool_result':
      return `Answer to call ${event.data.call_seq}, which is not in this history`;
    case 'finished':
      return `Finished: ${event.data.status}, ${event.data.terminal_reason}`;
    default:
      // A newer service added this kind of event.
      return printable(String((event satisfies never as StepEvent).kind), 60);
  }
}

function isolationWords(minimum: string): string {
  return minimum === 'none' ? 'any isolation' : `at least ${minimum}`;
}
