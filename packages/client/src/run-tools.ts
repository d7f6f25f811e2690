/**
 * A run's tools: the caller's functions that the program can call. Each call is an event of the job, and so is each answer.
 * A page loads this module with the first run that has tools.
 */
import type { JobEvent, JobSubmission, Tool, ToolAnswer } from './contract-types.ts';
import { definedEntries } from './defined-entries.ts';
import type { Answers } from './event-stream.ts';
import { ServiceFailure } from './failure.ts';
import type { followJob } from './follow.ts';
import type { CallOptions } from './job-options.ts';
import { accepted } from './operation.ts';
import { recordedTools, ToolReplay, type Transcript } from './replay-tools.ts';
import type { Session } from './session.ts';
import { jsonSchemaOf, type ToolSchema, validated } from './tool-schema.ts';
import { answerToolCall, openToolCalls } from './tools.ts';
import { Turns } from './turns.ts';

/** A call that waits for its answer. */
export interface ToolCall {
  readonly job_id: string;
  /** The number of the call's event. */
  readonly seq: number;
  readonly tool: string;
  /** The arguments from the program. If the tool has a schema, these are the values that the schema returns. */
  readonly arguments: unknown;
  /** Aborts when nobody is waiting for the answer any longer. */
  readonly signal: AbortSignal;
}

/** Answers a call. The function's result is sent as JSON, undefined as null, and an exception as the tool's error. */
// biome-ignore lint/suspicious/noExplicitAny: what a program gives has the type that the caller's schema states
export type ToolFunction = (given: any, call: ToolCall) => unknown;

/** A function and its description. */
export interface ToolDefinition {
  readonly description?: string | undefined;
  /** The form of the arguments. The service refuses a call with other arguments before the tool gets it. */
  readonly arguments?: ToolSchema | undefined;
  /** The form of the result. A result that does not fit becomes the tool's error. */
  readonly result?: ToolSchema | undefined;
  /** The time after which the program gets an error instead of a result. */
  readonly timeoutSeconds?: number | undefined;
  readonly execute: ToolFunction;
}

export type RunTools = Readonly<Record<string, ToolFunction | ToolDefinition>>;

/** Decides about each call before its tool runs. True lets the tool run, a text refuses with that reason, all else refuses. */
export type Approve = (call: ToolCall) => unknown;

export interface ToolOptions {
  /** The functions that the program may call, by name. */
  readonly tools?: RunTools | undefined;
  readonly approve?: Approve | undefined;
  readonly toolLimits?: JobSubmission['tool_limits'];
  /** Answers each call as in an earlier run, in the same order, and fails at the first call that differs. No tool runs. */
  readonly replay?: Transcript | undefined;
  /** How many tools run at once; further calls wait. The default is 16. */
  readonly toolsAtOnce?: number | undefined;
}

const toolsAtOnceUsual = 16;
const errorCharsMax = 4096;

/** Refusals that mean that the service does not accept the answer. The program then gets an error instead. */
const unfit: ReadonlySet<string> = new Set([
  'tool_result_misfit',
  'payload_too_large',
  'invalid_request',
  'invalid_json',
]);
/** Refusals that mean that nobody is waiting for the answer any longer. */
const late: ReadonlySet<string> = new Set(['job_terminal', 'tool_call_answered', 'job_not_found']);

/** The submission with the tools added. If the submission already describes a tool, it keeps that description. */
export function withTools(submission: JobSubmission, { tools = {}, replay, toolLimits }: ToolOptions): JobSubmission {
  const given = submission.tools ?? [];
  const defined = Object.entries(tools).map(([name, tool]) => toolOf(name, definitionOf(tool)));
  const recorded = replay === undefined ? [] : recordedTools(replay).map((name) => ({ name }));
  const described = new Map([...recorded, ...defined].map((tool) => [tool.name, tool]));
  for (const { name } of given) described.delete(name);
  if (given.length + described.size === 0 && replay !== undefined) return submission;
  return {
    ...submission,
    tools: [...given, ...described.values()],
    ...(toolLimits && { tool_limits: toolLimits }),
  };
}

function toolOf(name: string, { description, ...schemas }: ToolDefinition): Tool {
  const told = {
    description,
    arguments: jsonSchemaOf(schemas.arguments, 'input'),
    result: jsonSchemaOf(schemas.result, 'output'),
  };
  return { name, ...Object.fromEntries(definedEntries(told)) };
}

function definitionOf(tool: ToolFunction | ToolDefinition): ToolDefinition {
  return typeof tool === 'function' ? { execute: tool } : tool;
}

/** Answers calls from the beginning to the end of a job. Calls that already have an answer keep that answer. */
export async function answerCalls(
  session: Session,
  job_id: string,
  // The caller has loaded `follow` and passes it in: an import here would split the client into two files.
  { signal, follow, ...options }: ToolOptions & CallOptions & { readonly follow: typeof followJob },
): Promise<void> {
  const answering = answeringFor(session, { job_id, replayed: true }, options);
  try {
    const { answers } = answering;
    for await (const event of follow(session, job_id, { signal: answering.during(signal), answers }))
      await answering.take(event);
  } finally {
    answering.end();
  }
}

interface Job {
  readonly job_id: string;
  /** Whether the job was submitted before. */
  readonly replayed: boolean;
}

/** Something that answers one job's tool calls while the job runs. */
export interface Answering {
  /** A signal that aborts when the given signal does, or at the first error that ends the run. */
  during(signal: AbortSignal | undefined): AbortSignal | undefined;
  /** Takes each event of the job. */
  take(event: JobEvent): unknown;
  /** Present if answers can go over the stream. */
  readonly answers?: Answers;
  /** Stops answering, since nobody waits for an answer any longer. @throws the error that ends the run */
  end(): void;
}

export function answeringFor(session: Session, job: Job, { replay, ...options }: ToolOptions): Answering {
  const patient = accepted(session);
  return replay === undefined ? new ToolRunner(patient, job, options) : new ToolReplay(patient, job, replay);
}

/** The most characters of a message. Longer ones go as requests, because a message over the service's bound ends the stream. */
const messageCharsMax = 64 * 1024;

type Request = (call: ToolCall, answer: ToolAnswer) => Promise<void>;

/**
 * Sends answers over the job's stream while it is open and accepts them, and otherwise as requests. If the stream does not
 * confirm an answer, the answer is sent again as a request; a refusal then gives the reason. Repeating an answer changes nothing.
 */
class Sender implements Answers {
  readonly #apiKey: string | null;
  readonly #request: Request;
  readonly #failed: (error: unknown) => void;
  /** Functions that send again the answers that the stream has not confirmed, keyed by the numbers of the answers' calls. */
  readonly #sent = new Map<number, () => Promise<void>>();
  #socket: WebSocket | null = null;

  constructor({ apiKey }: Session, request: Request, failed: (error: unknown) => void) {
    this.#apiKey = apiKey;
    this.#request = request;
    this.#failed = failed;
  }

  async send(call: ToolCall, answer: ToolAnswer): Promise<void> {
    const message = JSON.stringify({ call_seq: call.seq, ...answer });
    if (this.#socket === null || message.length > messageCharsMax) return await this.#request(call, answer);
    this.#sent.set(call.seq, () => this.#request(call, answer));
    this.#socket.send(message);
  }

  /** Notes that the service has taken somebody's answer to the call. */
  taken(call_seq: number): void {
    this.#sent.delete(call_seq);
  }

  refused(call_seq: number): void {
    const request = this.#sent.get(call_seq);
    this.#sent.delete(call_seq);
    request?.().catch(this.#failed);
  }

  connect(url: string): WebSocket | null {
    const socket = socketOf(url, this.#apiKey);
    socket?.addEventListener('open', () => {
      this.#socket = socket;
    });
    socket?.addEventListener('close', () => {
      if (this.#socket === socket) this.#socket = null;
      for (const call_seq of this.#sent.keys()) this.refused(call_seq);
    });
    return socket;
  }
}

/** A socket opened with the credential; null if there is none, or if the platform cannot send it, as in browsers. */
function socketOf(url: string, apiKey: string | null): WebSocket | null {
  if (apiKey === null) return null;
  try {
    return new WebSocket(url, { headers: { authorization: `Bearer ${apiKey}` } } as never);
  } catch {
    return null;
  }
}

/** Answers the calls of one job while it runs. */
class ToolRunner implements Answering {
  readonly #session: Session;
  readonly #job: Job;
  readonly #options: ToolOptions;
  readonly #turns = new Turns();
  readonly #over = new AbortController();
  /** Aborts with the first error that ends the run. */
  readonly #failed = new AbortController();
  readonly answers: Sender;

  constructor(session: Session, job: Job, options: ToolOptions) {
    this.#session = session;
    this.#job = job;
    this.#options = options;
    const request: Request = (call, answer) => this.#request(call, answer);
    this.answers = new Sender(session, request, (error) => this.#lose(error));
  }

  during(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#failed.signal : AbortSignal.any([signal, this.#failed.signal]);
  }

  /** Takes an event. A tool call is answered in parallel with everything else. */
  take({ kind, seq, data }: JobEvent): void {
    if (kind === 'tool_result') this.answers.taken(data.call_seq);
    if (kind !== 'tool_call' || data.refused !== undefined || !this.#knows(data.tool)) return;
    const call = {
      job_id: this.#job.job_id,
      seq,
      tool: data.tool,
      arguments: data.arguments,
      signal: this.#over.signal,
    };
    this.#answer(call).catch((error: unknown) => this.#lose(error));
  }

  end(): void {
    this.#over.abort(new Error('the run is over'));
    this.#failed.signal.throwIfAborted();
  }

  #knows(tool: string): boolean {
    return Object.hasOwn(this.#options.tools ?? {}, tool);
  }

  async #answer(call: ToolCall): Promise<void> {
    try {
      await this.#turns.take(this.#options.toolsAtOnce ?? toolsAtOnceUsual, call.signal);
      try {
        if (await this.#isOpen(call)) await this.answers.send(call, await this.#outcome(call));
      } finally {
        this.#turns.passOn();
      }
    } catch (error) {
      if (!call.signal.aborted) throw error;
    }
  }

  /** Whether a call still lacks an answer. If the job was submitted before, the tools of answered calls do not run again. */
  async #isOpen({ job_id, seq, signal }: ToolCall): Promise<boolean> {
    if (!this.#job.replayed) return true;
    const { calls } = await openToolCalls(this.#session, job_id, { after: seq - 1, signal });
    return calls[0]?.seq === seq;
  }

  async #outcome(call: ToolCall): Promise<ToolAnswer> {
    const { execute, timeoutSeconds, ...schemas } = definitionOf(this.#options.tools?.[call.tool] as ToolDefinition);
    const { approve } = this.#options;
    try {
      const fit = await validated(schemas.arguments, call.arguments);
      if ('problem' in fit) return { error: `the arguments do not fit: ${fit.problem}` };
      const asked = { ...call, arguments: fit.value };
      const verdict = approve === undefined || (await this.#orFail(() => approve(asked)));
      if (verdict !== true) return { error: typeof verdict === 'string' ? verdict : 'this call was not approved' };
      return { result: plain(await inTime(execute, asked, timeoutSeconds)) };
    } catch (error) {
      return { error: messageOf(error) };
    }
  }

  /** Makes a decision that is needed before a call can run. An error in it, such as one in `approve`, ends the run. */
  async #orFail<Found>(decide: () => Found | Promise<Found>): Promise<Found> {
    try {
      return await decide();
    } catch (error) {
      this.#failed.abort(error);
      throw error;
    }
  }

  /** Ends the run with an error, unless the job has ended and the error no longer matters. */
  #lose(error: unknown): void {
    if (!this.#over.signal.aborted) this.#failed.abort(error);
  }

  async #request({ job_id, seq, signal }: ToolCall, answer: ToolAnswer): Promise<void> {
    try {
      await answerToolCall(this.#session, { job_id, seq, signal }, answer);
    } catch (error) {
      if (!(error instanceof ServiceFailure)) throw error;
      if (late.has(error.code)) return;
      if (!unfit.has(error.code) || answer.error !== undefined) throw error;
      await this.#request({ job_id, seq, signal } as ToolCall, {
        error: `the service refused its result: ${error.message}`,
      });
    }
  }
}

/** @throws what the function throws, and Error if the function takes too long */
async function inTime(execute: ToolFunction, call: ToolCall, seconds: number | undefined): Promise<unknown> {
  if (seconds === undefined) return await execute(call.arguments, call);
  const deadline = AbortSignal.timeout(Math.ceil(seconds * 1000));
  const signal = AbortSignal.any([call.signal, deadline]);
  const late = new Promise<never>((_, reject) => {
    deadline.addEventListener('abort', () => reject(new Error(`the tool took longer than ${seconds} s`)));
  });
  return await Promise.race([execute(call.arguments, { ...call, signal }), late]);
}

/** The value in JSON's terms: undefined and numbers that JSON lacks become null. @throws TypeError for a value without JSON */
function plain(value: unknown): unknown {
  if (value === undefined) return null;
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`a tool cannot return a ${typeof value}`);
  return JSON.parse(text);
}

function messageOf(error: unknown): string {
  const { message } = (error ?? {}) as { readonly message?: unknown };
  const text = typeof message === 'string' && message !== '' ? message : `the tool threw a ${typeof error}`;
  return text.slice(0, errorCharsMax).toWellFormed();
}
