/**
 * What the writer's and the reader's thread have in common. Each reports that it is open, or why it is not. Then it takes calls
 * as they arrive, and answers them in groups.
 */
import { setImmediate } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { IdleMemory } from '../../ground/idle-memory.ts';
import type { StoreError } from '../store-error.ts';
import { type Call, portable, type Report, type Request } from './messages.ts';

/** An open thread of the store. Disposing closes its connection. */
export interface StoreThread extends AsyncDisposable {
  /** The names of the thread's commands. */
  readonly names: readonly string[];
  /** Takes one or more calls from the front of `waiting`, and reports their answers. */
  work(waiting: Call[]): Promise<void>;
}

export type SendReport = (report: Report) => void;

/** One side of a kind of store. */
export interface ThreadKind {
  /** Opens the thread's connection. The thread then reports through `report`. */
  open(report: SendReport): Promise<StoreThread>;
  /** Turns what `open` threw into an error of the store. */
  errorOf(thrown: unknown): StoreError;
}

/**
 * Serves the calls that arrive on `port` until the service asks it to close; all waiting calls are answered first. The store is
 * opened only when the service asks, so that both threads can load while only one may touch the file.
 */
export function serveStore(port: MessagePort, kind: ThreadKind): void {
  const service = new CallService(port, kind);
  port.on('message', (request: Request) => service.receive(request));
}

/** Serves calls on a thread. An error thrown here is a bug; it ends the thread and fails every waiting call. */
class CallService {
  readonly #port: MessagePort;
  readonly #kind: ThreadKind;
  readonly #waiting: Call[] = [];
  /** The open thread; null before the store is open. */
  #thread: StoreThread | null = null;
  #running = false;
  #closing = false;
  readonly #memory = new IdleMemory();

  constructor(port: MessagePort, kind: ThreadKind) {
    this.#port = port;
    this.#kind = kind;
  }

  receive(request: Request): void {
    if (request.kind === 'open') void this.#openThread();
    if (request.kind === 'calls') for (const call of request.calls) this.#waiting.push(call);
    if (request.kind === 'close') this.#closing = true;
    void this.#run();
  }

  async #openThread(): Promise<void> {
    try {
      this.#thread = await this.#kind.open((report) => this.#report(report));
    } catch (thrown) {
      this.#report({ kind: 'failed', error: portable(this.#kind.errorOf(thrown)) });
      this.#port.close();
      return;
    }
    this.#report({ kind: 'open', names: this.#thread.names });
    await this.#run();
  }

  /** Lets arriving messages in before each group, so that calls that arrive together are committed together. */
  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    await setImmediate();
    while (this.#thread !== null && this.#waiting.length > 0) {
      await this.#thread.work(this.#waiting);
      await setImmediate();
    }
    this.#running = false;
    if (this.#closing) await this.#close();
  }

  async #close(): Promise<void> {
    this.#memory[Symbol.dispose]();
    await this.#thread?.[Symbol.asyncDispose]();
    this.#port.close();
  }

  #report(report: Report): void {
    this.#port.postMessage(report);
  }
}
