/**
 * A program's tool calls and their answers, made only from the events of the job. A transcript's digest does not cover event
 * numbers, times or principals, so two runs with the same calls and answers have the same digest.
 */

import { sha256Hex } from '#sha256';
import { canonicalJson } from './canonical-json.ts';
import { isJsonObject } from './strict-json.ts';

/** The outcome of a call: null if nobody answered the call, `refused` if the service refused it. */
export type CallOutcome =
  | { readonly result: unknown }
  | { readonly error: string }
  | { readonly refused: string }
  | null;

export interface TranscriptCall {
  /** The number of the call's event. */
  readonly seq: number;
  readonly tool: string;
  readonly arguments: unknown;
  readonly outcome: CallOutcome;
  /** The principal who answered; null if nobody answered. */
  readonly principal: string | null;
}

/** The members about tools in a job's statement, under `also.tools`. */
export interface ToolEvidence {
  /** How many calls of each tool there were, not counting calls that the service refused. */
  readonly calls: Readonly<Record<string, number>>;
  readonly refused: number;
  readonly transcriptSha256: string;
}

/** The calls of a history, in their order. Events are added in the order of their numbers. */
export class Transcript {
  readonly #calls = new Map<number, TranscriptCall>();

  /** Adds an event. Returns why it cannot follow the events before it, or null. Events of other kinds are always accepted. */
  add({ seq, kind, data }: { readonly seq: number; readonly kind: string; readonly data: unknown }): string | null {
    if (kind !== 'tool_call' && kind !== 'tool_result') return null;
    if (!isJsonObject(data)) return `event ${seq} has no members`;
    return kind === 'tool_call' ? this.#called(seq, data) : this.#answered(seq, data);
  }

  get calls(): readonly TranscriptCall[] {
    return [...this.#calls.values()];
  }

  evidence(): ToolEvidence {
    const counts = new Map<string, number>();
    let refused = 0;
    for (const { tool, outcome } of this.calls)
      if (outcome !== null && 'refused' in outcome) refused++;
      else counts.set(tool, (counts.get(tool) ?? 0) + 1);
    return { calls: Object.fromEntries(counts), refused, transcriptSha256: sha256Hex(this.text()) };
  }

  /** The transcript as text: one line for each call, in canonical JSON. */
  text(): string {
    return this.calls.map((call) => `${lineOf(call)}\n`).join('');
  }

  #called(seq: number, { tool, arguments: given, refused }: Readonly<Record<string, unknown>>): string | null {
    if (typeof tool !== 'string' || given === undefined) return `event ${seq} is no call of a tool`;
    const outcome = typeof refused === 'string' ? { refused } : null;
    this.#calls.set(seq, { seq, tool, arguments: given, outcome, principal: null });
    return null;
  }

  #answered(seq: number, data: Readonly<Record<string, unknown>>): string | null {
    const { call_seq, result, error, principal } = data;
    const call = this.#calls.get(call_seq as number);
    if (call === undefined) return `event ${seq} answers no call`;
    if (call.outcome !== null) return `event ${seq} answers a call that has an answer`;
    const outcome = typeof error === 'string' ? { error } : { result };
    if (Object.hasOwn(data, 'result') === Object.hasOwn(data, 'error') || Object.values(outcome)[0] === undefined)
      return `event ${seq} does not have exactly one answer`;
    this.#calls.set(call.seq, { ...call, outcome, principal: typeof principal === 'string' ? principal : null });
    return null;
  }
}

function lineOf({ tool, arguments: given, outcome }: TranscriptCall): string {
  return canonicalJson({ tool, arguments: given, ...outcome });
}
