/**
 * Answers a run's calls with the answers from an earlier run, in the same order. No tool runs. Calls that were open at the same
 * time may come in another order, because a program's threads and processes run in no fixed order.
 */
import { canonicalJson } from './canonical-json.ts';
import type { EventData, JobEvent, ToolAnswer } from './contract-types.ts';
import { refuse, ServiceFailure } from './failure.ts';
import type { Session } from './session.ts';
import { answerToolCall } from './tools.ts';

/** The events of an earlier run, or that run's result with its history. */
export type Transcript = readonly JobEvent[] | { readonly history?: readonly JobEvent[] | undefined };

interface Recorded {
  readonly seq: number;
  /** The call's place among all calls, from 1. */
  readonly place: number;
  /** The number of the event that closed the call: its answer or, if the call was refused, the next answer to any call. */
  readonly closed: number;
  readonly tool: string;
  /** The values that must be equal in every run: the tool, its arguments and the service's refusal, if there was one. */
  readonly line: string;
  readonly isRefused: boolean;
}

const shownCharsMax = 200;

/** The names of the tools that answered in the earlier run. */
export function recordedTools(transcript: Transcript): readonly string[] {
  const calls = callsIn(eventsOf(transcript)).filter(({ isRefused }) => !isRefused);
  return [...new Set(calls.map(({ tool }) => tool))];
}

export class ToolReplay {
  readonly #session: Session;
  readonly #job_id: string;
  /** The calls that this run has not made yet, in their order. */
  readonly #missing: Recorded[];
  /** The answers, in the order in which they were given. Each has the number of its call in the earlier run. */
  readonly #answers: readonly EventData['tool_result'][];
  /** The calls' numbers in this run, keyed by their numbers in the earlier run. */
  readonly #numbers = new Map<number, number>();
  #answered = 0;
  #signal: AbortSignal | undefined;

  constructor(session: Session, { job_id }: { readonly job_id: string }, transcript: Transcript) {
    const events = eventsOf(transcript);
    this.#session = session;
    this.#job_id = job_id;
    this.#missing = callsIn(events);
    this.#answers = events.flatMap(({ kind, data }) => (kind === 'tool_result' ? [data] : []));
  }

  during(signal: AbortSignal | undefined): AbortSignal | undefined {
    this.#signal = signal;
    return signal;
  }

  /** @throws EvidenceFailure `transcript` for the first call that differs */
  async take({ kind, seq, data }: JobEvent): Promise<void> {
    if (kind === 'finished') this.#checkEnd();
    if (kind !== 'tool_call') return;
    this.#numbers.set(this.#found(lineOf(data), seq).seq, seq);
    await this.#answer();
  }

  end(): void {}

  /** The earlier run's call that equals this call: the first missing call, or a call made before the first was closed. */
  #found(line: string, seq: number): Recorded {
    const [first] = this.#missing;
    const later = this.#missing.findIndex(({ seq: made }) => made > (first?.closed ?? 0));
    const expected = later < 0 ? this.#missing : this.#missing.slice(0, later);
    const at = expected.findIndex((call) => call.line === line);
    const [found] = at < 0 ? [] : this.#missing.splice(at, 1);
    if (found !== undefined) return found;
    const had = first === undefined ? 'no such call' : shown(first.line);
    const or = expected.length < 2 ? '' : `, or one of ${expected.length - 1} others that were open then`;
    return refuse(
      'transcript',
      `call ${this.#numbers.size + 1} is ${shown(line)}, and the transcript has ${had}${or}`,
      seq,
    );
  }

  #checkEnd(): void {
    const [missing] = this.#missing;
    if (missing === undefined) return;
    refuse('transcript', `the program ended before call ${missing.place} of the transcript, ${shown(missing.line)}`);
  }

  /** Gives the answers that are due. Each answer waits until all earlier answers have been given. */
  async #answer(): Promise<void> {
    for (; ; this.#answered++) {
      const { call_seq, result, error } = this.#answers[this.#answered] ?? { call_seq: 0 };
      const seq = this.#numbers.get(call_seq);
      if (seq === undefined) return;
      const answer: ToolAnswer = error === undefined ? { result } : { error };
      await answerToolCall(this.#session, { job_id: this.#job_id, seq, signal: this.#signal }, answer).catch(
        unlessEnded,
      );
    }
  }
}

function unlessEnded(error: unknown): void {
  if (!(error instanceof ServiceFailure) || error.code !== 'job_terminal') throw error;
}

function eventsOf(transcript: Transcript): readonly JobEvent[] {
  const events = 'history' in transcript ? transcript.history : transcript;
  if (Array.isArray(events)) return events as readonly JobEvent[];
  throw new TypeError('there is no history to replay: run with { history: true }, or give the events of the job');
}

function callsIn(events: readonly JobEvent[]): Recorded[] {
  const answers = new Map(
    events.flatMap(({ kind, seq, data }) => (kind === 'tool_result' ? [[data.call_seq, seq]] : [])),
  );
  return events
    .flatMap(({ kind, seq, data }) => (kind === 'tool_call' ? [{ seq, data }] : []))
    .map(({ seq, data }, at) => {
      const isRefused = data.refused !== undefined;
      const closed = isRefused ? [...answers.values()].find((answer) => answer > seq) : answers.get(seq);
      return { seq, place: at + 1, closed: closed ?? Infinity, tool: data.tool, line: lineOf(data), isRefused };
    });
}

function lineOf({ tool, arguments: given, refused }: EventData['tool_call']): string {
  return canonicalJson({ tool, arguments: given, ...(refused !== undefined && { refused }) });
}

function shown(line: string): string {
  return line.length <= shownCharsMax ? line : `${line.slice(0, shownCharsMax)}…`;
}
