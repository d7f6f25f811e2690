/**
 * Connects a program's tool calls with its job's history. A call is stored before anybody can answer it, and an answer is stored
 * before the program gets it. Answers come from the store, whichever node took them, and the program gets each answer once.
 */
import type { StoredTools } from '@vouchbox/protocol';
import type { ProgramTools, ToolCall, ToolOutcome } from '../../sandbox/sandbox.ts';
import type { JobKey } from '../../store/records/rows.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { History } from '../history.ts';
import { type SchemaChecks, UNCHECKED } from '../tools/schema-checks.ts';
import type { JobClock } from './clock.ts';
import type { Recorder } from './recorder.ts';

export interface ToolSessionOptions {
  readonly history: Pick<History, 'toolAnswers'>;
  readonly schemas: Pick<SchemaChecks, 'misfit'>;
  readonly key: JobKey;
  readonly clock: JobClock;
  readonly log: Log;
}

const UNKNOWN = 'the submission names no tool of this name';

export class ToolSession implements ProgramTools {
  readonly limits: ProgramTools['limits'];
  /** The schema of each tool's arguments as JSON, keyed by the tool's name; null for a tool that takes any arguments. */
  readonly #tools: ReadonlyMap<string, string | null>;
  /** Tools whose arguments are no longer checked, because a check took too long. */
  readonly #unchecked = new Set<string>();
  readonly #options: ToolSessionOptions;
  readonly #over = new AbortController();
  readonly #ended = Promise.withResolvers<string>();
  #record: Recorder['record'] = () => {};
  #answer: (call: number, outcome: ToolOutcome) => void = () => {};
  #giving: Promise<void> | null = null;
  /** Settles when the last waiting call has been checked; null if no call waits for a check. */
  #checking: Promise<void> | null = null;

  constructor({ tools, limits }: StoredTools, options: ToolSessionOptions) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool.arguments ? JSON.stringify(tool.arguments) : null]));
    this.limits = limits;
    this.#options = options;
  }

  /** The recorder of calls, set before the program is released. */
  recordBy(record: Recorder['record']): void {
    this.#record = record;
  }

  begin(answer: (call: number, outcome: ToolOutcome) => void): void {
    this.#answer = answer;
  }

  called(call: ToolCall): void {
    this.#giving ??= this.#give();
    const schema = this.#tools.get(call.tool);
    if (this.#checking === null && typeof schema !== 'string') {
      this.#recordCall(call, schema === undefined ? UNKNOWN : null);
      return;
    }
    // Calls are checked in the order in which the program made them.
    const checked = (this.#checking ?? Promise.resolve()).then(async () => {
      this.#recordCall(call, await this.#refusal(call));
      if (this.#checking === checked) this.#checking = null;
    });
    this.#checking = checked;
  }

  #recordCall({ call, tool, arguments: given }: ToolCall, refused: string | null): void {
    const data = { call, tool, arguments: given, ...(refused !== null && { refused }) };
    this.#record({ kind: 'tool_call', timestamp: this.#options.clock.timestamp(), data }, () => {
      if (refused !== null) this.#answer(call, { error: refused });
    });
  }

  /** Why a call is refused; null if it is shown to callers instead. A call still unchecked when the program ends is refused. */
  async #refusal({ tool, arguments: given }: ToolCall): Promise<string | null> {
    const { schemas, key } = this.#options;
    const schema = this.#tools.get(tool);
    if (schema === undefined) return UNKNOWN;
    if (schema === null) return null;
    if (this.#unchecked.has(tool) || this.#over.signal.aborted) return `the arguments ${UNCHECKED}`;
    const misfit = await Promise.race([
      schemas.misfit(key.tenant, { schema, value: JSON.stringify(given) }),
      this.#ended.promise,
    ]);
    if (misfit === null) return null;
    if (misfit !== UNCHECKED) return `the arguments do not fit: ${misfit}`;
    this.#unchecked.add(tool);
    return `the arguments ${UNCHECKED}`;
  }

  /** Notes that the program has ended and gets no more answers. Resolves once no check and no answer is in progress. */
  async over(): Promise<void> {
    this.#over.abort('the program has ended');
    this.#ended.resolve(UNCHECKED);
    await this.#checking;
    await this.#giving;
  }

  async #give(): Promise<void> {
    const { history, key, log } = this.#options;
    try {
      for await (const answers of history.toolAnswers(key, this.#over.signal))
        for (const { call, outcome } of answers) this.#answer(call, outcome);
    } catch (error) {
      // The program gets no more answers and waits until its time limit, as if the answering caller had gone away.
      log.error({ err: error, job_id: key.job_id }, 'answers of tools could not be read');
    }
  }
}
