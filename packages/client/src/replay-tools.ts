/** Answers the calls of a run as those of an earlier run were answered, in their order. No tool runs. */
import { canonicalJson } from './canonical-json.ts';
import type { EventData, JobEvent, ToolAnswer } from './contract-types.ts';
import { refuse, ServiceFailure } from './failure.ts';
import type { Session } from './session.ts';
import { answerToolCall } from './tools.ts';

/** The events of an earlier run, or its result with its history. */
export type Transcript = readonly JobEvent[] | { readonly history?: readonly JobEvent[] | undefined };

interface Recorded {
  readonly seq: number;
  readonly tool: string;
  /** What must be the same at every run: the tool, its arguments, and why the service refused the call if it did. */
  readonly line: string;
  readonly isRefused: boolean;
}

const shownCharsMax = 200;

/** The names of tools that answered in the earlier run. */
export function recordedTools(transcript: Transcript): readonly string[] {
  const calls = callsIn(eventsOf(transcript)).filter(({ isRefused }) => !isRefused);
  return [...new Set(calls.map(({ tool }) => tool))];
}

export class ToolReplay {
  readonly #session: Session;
  readonly #job_id: string;
  readonly #calls: readonly Recorded[];
  /** The answers in the order in which they were given, each with the number of its call in the earlier run. */
  readonly #answers: readonly EventData['tool_result'][];
  /** The numbers of the calls of this run by those of the earlier run. */
  readonly #numbers = new Map<number, number>();
  #answered = 0;
  #signal: AbortSignal | undefined;

  constructor(session: Session, { job_id }: { readonly job_id: string }, transcript: Transcript) {
    const events = eventsOf(transcript);
    this.#session = session;
    this.#job_id = job_id;
    this.#calls = callsIn(events);
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
    const number = this.#numbers.size;
    const recorded = this.#calls[number];
    const made = lineOf(data);
    if (recorded === undefined || recorded.line !== made) {
      const had = recorded === undefined ? 'no such call' : shown(recorded.line);
      refuse('transcript', `call ${number + 1} is ${shown(made)}, and the transcript has ${had}`, seq);
    }
    this.#numbers.set(recorded.seq, seq);
    await this.#answer();
  }

  end(): void {}

  #checkEnd(): void {
    const missing = this.#calls[this.#numbers.size];
    if (missing === undefined) return;
    refuse(
      'transcript',
      `the program ended before call ${this.#numbers.size + 1} of the transcript, ${shown(missing.line)}`,
    );
  }

  /** Gives the answers whose turn it is: none goes before those that went before it. */
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

function callsIn(events: readonly JobEvent[]): readonly Recorded[] {
  return events.flatMap(({ kind, seq, data }) =>
    kind === 'tool_call' ? [{ seq, tool: data.tool, line: lineOf(data), isRefused: data.refused !== undefined }] : [],
  );
}

function lineOf({ tool, arguments: given, refused }: EventData['tool_call']): string {
  return canonicalJson({ tool, arguments: given, ...(refused !== undefined && { refused }) });
}

function shown(line: string): string {
  return line.length <= shownCharsMax ? line : `${line.slice(0, shownCharsMax)}…`;
}
