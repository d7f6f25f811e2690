/** The steps of a job, in order. A tool call and its answer are one step. */
import type { StepEvent } from './job-history.ts';

export type ToolCall = Extract<StepEvent, { readonly kind: 'tool_call' }>;
export type ToolResult = Extract<StepEvent, { readonly kind: 'tool_result' }>;

export interface Step {
  readonly event: StepEvent;
  /** The answer to the call; null if the event is not a call, or if nobody has answered it. */
  readonly answer: ToolResult | null;
}

/** A call, with its answer if there is one. */
export interface CallStep extends Step {
  readonly event: ToolCall;
}

export function stepsOf(events: readonly StepEvent[]): readonly Step[] {
  const steps: Step[] = [];
  const calls = new Map<number, number>();
  for (const event of events) {
    const called = event.kind === 'tool_result' ? calls.get(event.data.call_seq) : undefined;
    if (event.kind === 'tool_result' && called !== undefined) {
      steps[called] = { event: (steps[called] as Step).event, answer: event };
      continue;
    }
    if (event.kind === 'tool_call') calls.set(event.seq, steps.length);
    steps.push({ event, answer: null });
  }
  return steps;
}

export function callsOf(steps: readonly Step[]): readonly CallStep[] {
  return steps.filter((step): step is CallStep => step.event.kind === 'tool_call');
}

/** The calls that wait for an answer. A call that the service refused does not wait. */
export function openCallsOf(steps: readonly Step[]): readonly ToolCall[] {
  return callsOf(steps).flatMap(({ event, answer }) =>
    answer === null && event.data.refused === undefined ? [event] : [],
  );
}
