/**
 * The service's side of a store thread. All calls from one turn of the event loop are sent in one message, even if they come from
 * many connections. Calls that no caller waits for are sent with the next call that a caller waits for, and share its commit.
 * When the thread ends for any reason, every waiting and every later call is rejected, so that none hangs.
 */
import type { AnswerOf, Commands, InputOf, Methods } from '../commands.ts';
import { StoreError } from '../store-error.ts';
import { type Answer, type Call, type Report, type Request, revived } from './messages.ts';
import type { Thread } from './threads.ts';

/** The most calls that may wait. The code above the store keeps their number far lower. */
const callsWaitingMax = 20_000;
/** How long a call that no caller waits for may be held back, so that it can share a message with another call. */
const patienceMilliseconds = 25;

interface WaitingCall {
  resolve(value: unknown): void;
  reject(error: StoreError): void;
}

export interface ChannelOptions {
  /** The thread, just started. The channel ends it. */
  readonly thread: Thread;
  /** Whether no caller waits for a call. Default: a caller waits for every call. */
  readonly isPatient?: (name: string, input: unknown) => boolean;
  /** Called for problems that make no call fail. */
  readonly onProblem: (error: StoreError) => void;
}

/** A thread, and the calls that wait for it. Disposing lets every waiting call finish first. */
export class Channel<Known extends Commands> implements AsyncDisposable {
  readonly #thread: Thread;
  readonly #isPatient: (name: string, input: unknown) => boolean;
  readonly #onProblem: (error: StoreError) => void;
  readonly #waiting = new Map<number, WaitingCall>();
  readonly #opened = Promise.withResolvers<readonly string[]>();
  readonly #ended = Promise.withResolvers<void>();
  #unsent: Call[] = [];
  #moved: ArrayBuffer[] = [];
  #now: NodeJS.Immediate | undefined;
  #later: NodeJS.Timeout | undefined;
  #lastId = 0;
  /** The error with which calls are rejected; null while calls are accepted. */
  #refusal: StoreError | null = null;

  /** Takes over a thread. The thread loads by itself, but opens the store only on request. */
  constructor({ thread, isPatient = () => false, onProblem }: ChannelOptions) {
    this.#onProblem = onProblem;
    this.#isPatient = isPatient;
    this.#thread = thread;
    this.#thread.on('message', (report) => this.#receive(report));
    this.#thread.on('error', (cause) => this.#lose('a thread of the store died', { cause }));
    this.#thread.on('exit', () => {
      this.#lose('a thread of the store ended');
      this.#ended.resolve();
    });
    this.#opened.promise.catch(() => {}); // `open` passes the error on; an unhandled rejection would end the process.
  }

  /** Resolves when the thread has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /**
   * Tells the thread to open the store. Returns its commands as methods.
   *
   * @throws StoreError saying why the thread could not open the store; the thread has then ended
   */
  async open(): Promise<Methods<Known>> {
    this.#thread.postMessage({ kind: 'open' } satisfies Request);
    const names = await this.#opened.promise;
    const ask = (name: string) => (input: unknown) => this.call(name, input as InputOf<Known[string]>);
    return Object.fromEntries(names.map((name) => [name, ask(name)])) as unknown as Methods<Known>;
  }

  /** Sends a call. The buffers in `moved` go to the thread and are empty here afterwards; the rest of the input is copied. */
  call<Name extends string & keyof Known>(
    name: Name,
    input: InputOf<Known[Name]>,
    moved: readonly ArrayBuffer[] = [],
  ): Promise<AnswerOf<Known[Name]>> {
    if (this.#refusal !== null) return Promise.reject(this.#refusal);
    if (this.#waiting.size >= callsWaitingMax) {
      return Promise.reject(new StoreError('busy', 'too many calls wait for the store'));
    }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const id = ++this.#lastId;
    this.#waiting.set(id, { resolve, reject });
    this.#moved.push(...moved);
    this.#unsent.push({ id, name, input });
    if (this.#isPatient(name, input)) this.#later ??= setTimeout(() => this.#send(), patienceMilliseconds);
    else if (this.#now === undefined) this.#now = setImmediate(() => this.#send());
    return promise as Promise<AnswerOf<Known[Name]>>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#refusal === null) {
      this.#refusal = new StoreError('unavailable', 'the store is closed');
      this.#send();
      this.#thread.postMessage({ kind: 'close' } satisfies Request);
    }
    await this.ended;
  }

  #send(): void {
    clearTimeout(this.#later);
    [this.#now, this.#later] = [undefined, undefined];
    const [calls, moved] = [this.#unsent, this.#moved];
    if (calls.length === 0) return;
    [this.#unsent, this.#moved] = [[], []];
    try {
      this.#thread.postMessage({ kind: 'calls', calls } satisfies Request, moved);
    } catch (cause) {
      const error = new StoreError('internal', 'a call of the store cannot be sent', { cause });
      for (const { id } of calls) this.#take(id)?.reject(error);
    }
  }

  #receive(report: Report): void {
    switch (report.kind) {
      case 'open':
        this.#opened.resolve(report.names);
        break;
      case 'failed':
        this.#refuse(revived(report.error));
        break;
      case 'answers':
        for (const answer of report.answers) this.#settle(answer);
        break;
      case 'problem':
        this.#onProblem(revived(report.error));
        break;
      default:
        report satisfies never;
    }
  }

  #settle(answer: Answer): void {
    const call = this.#take(answer.id);
    if ('error' in answer) call?.reject(revived(answer.error));
    else call?.resolve(answer.value);
  }

  #take(id: number): WaitingCall | undefined {
    const call = this.#waiting.get(id);
    this.#waiting.delete(id);
    return call;
  }

  /** Handles the end of the thread. Unless a refusal is already set, the end was unexpected. */
  #lose(message: string, options?: ErrorOptions): void {
    const error = new StoreError('unavailable', message, options);
    if (this.#refusal === null) this.#onProblem(error);
    this.#refuse(error);
  }

  /** Rejects every waiting call and every later call, all for the first reason. */
  #refuse(error: StoreError): void {
    this.#refusal ??= error;
    this.#opened.reject(this.#refusal);
    for (const id of [...this.#waiting.keys()]) this.#take(id)?.reject(this.#refusal);
  }
}
