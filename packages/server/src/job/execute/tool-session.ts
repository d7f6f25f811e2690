/**
 * Between a program's calls of tools and the history of its job. A call is stored before anybody can answer it, and an answer
 * before the program gets it. Answers come from the store, whichever node took them, and each is given once.
 */
import type { RequestedSpec } from '@vouchbox/protocol';
import type { ProgramTools, ToolCall, ToolOutcome } from '../../sandbox/sandbox.ts';
import type { JobKey } from '../../store/records/rows.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { History } from '../history.ts';
import type { JobClock } from './clock.ts';
import type { Recorder } from './recorder.ts';

export interface ToolSessionOptions {
  readonly history: Pick<History, 'toolAnswers'>;
  readonly key: JobKey;
  readonly clock: JobClock;
  readonly log: Log;
}

export class ToolSession implements ProgramTools {
  readonly limits: ProgramTools['limits'];
  readonly #names: ReadonlySet<string>;
  readonly #options: ToolSessionOptions;
  readonly #over = new AbortController();
  #record: Recorder['record'] = () => {};
  #answer: (call: number, outcome: ToolOutcome) => void = () => {};
  #giving: Promise<void> | null = null;

  constructor({ names, limits }: NonNullable<RequestedSpec['tools']>, options: ToolSessionOptions) {
    this.#names = new Set(names);
    this.limits = limits;
    this.#options = options;
  }

  /** What records calls, before the program is released. */
  recordBy(record: Recorder['record']): void {
    this.#record = record;
  }

  begin(answer: (call: number, outcome: ToolOutcome) => void): void {
    this.#answer = answer;
  }

  called({ call, tool, arguments: given }: ToolCall): void {
    const refused = this.#names.has(tool) ? undefined : 'the submission names no tool of this name';
    const data = { call, tool, arguments: given, ...(refused !== undefined && { refused }) };
    this.#record({ kind: 'tool_call', timestamp: this.#options.clock.timestamp(), data }, () => {
      if (refused !== undefined) this.#answer(call, { error: refused });
    });
    this.#giving ??= this.#give();
  }

  /** The program has ended: nothing more is given to it. Resolves once nothing is under way. */
  async over(): Promise<void> {
    this.#over.abort('the program has ended');
    await this.#giving;
  }

  async #give(): Promise<void> {
    const { history, key, log } = this.#options;
    try {
      for await (const answers of history.toolAnswers(key, this.#over.signal))
        for (const { call, outcome } of answers) this.#answer(call, outcome);
    } catch (error) {
      // The program waits until its limit, as for a caller that went away.
      log.error({ err: error, job_id: key.job_id }, 'answers of tools could not be read');
    }
  }
}
