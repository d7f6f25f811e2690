/** What happened, step by step. Output has a place of its own. */
import { printable } from '@vouchbox/protocol/vocabulary';
import { Moment } from '../parts/moment.tsx';
import { durationOf, sizeOf } from '../words/amounts.ts';
import type { HistorySnapshot, StepEvent } from './job-history.ts';

export function Timeline({ history }: { readonly history: HistorySnapshot }) {
  const begun = Date.parse(history.events[0]?.timestamp ?? '');
  if (history.events.length === 0) return <p className="soft">Nothing is known yet.</p>;
  return (
    <ol className="timeline">
      {history.events.map((event) => (
        <li key={event.seq}>
          <span className="timeline-what">{stepWords(event)}</span>
          <span className="small soft">
            <Moment at={event.timestamp} /> · +{durationOf(Date.parse(event.timestamp) - begun)} · event {event.seq}
          </span>
        </li>
      ))}
    </ol>
  );
}

function stepWords(event: StepEvent): string {
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
    case 'tool_call':
      return `Called ${printable(event.data.tool, 80)}${event.data.refused === undefined ? '' : ', which was refused'}`;
    case 'tool_result':
      return `Call ${event.data.call_seq} answered${event.data.error === undefined ? '' : ' with an error'} by ${printable(event.data.principal, 80)}`;
    case 'finished':
      return `Finished: ${event.data.status}, ${event.data.terminal_reason}`;
    default:
      // A kind that a newer service added.
      return printable(String((event satisfies never as StepEvent).kind), 60);
  }
}

function isolationWords(minimum: string): string {
  return minimum === 'none' ? 'any isolation' : `at least ${minimum}`;
}
