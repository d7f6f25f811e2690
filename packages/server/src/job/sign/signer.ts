/**
 * The service's side of the thread that signs. The thread starts with the first record. If it dies, its records are
 * lost, and the next record starts another thread.
 */
import { Worker } from 'node:worker_threads';
import type { Signed, Unsigned } from '@vouchbox/evidence';
import type { TerminalRecord } from '../../store/records/answers.ts';
import type { SigningKey } from './keys/key-files.ts';
import type { SigningAnswer, SigningRequest, SigningResult } from './signing-messages.ts';

/** The thread's room for new objects, in MiB. As in a thread of the store, little data outlives a call. */
const newObjectsMb = 8;

/** Thrown if the thread that signs does not answer. */
export class SignerError extends Error {
  override readonly name = 'SignerError';
}

/** Signs records on a separate thread. Disposing ends the thread and rejects the calls that still wait. */
export class Signer implements AsyncDisposable {
  readonly #waiting = new Map<number, PromiseWithResolvers<SigningAnswer>>();
  #worker: Worker | null = null;
  #lastId = 0;

  /** The result for each record, in their order. Rejects if the thread died: a call without records shows whether it lives. */
  async attest(
    records: readonly TerminalRecord[],
    key: SigningKey,
    { isLogged = false }: { readonly isLogged?: boolean } = {},
  ): Promise<readonly SigningResult[]> {
    return (await this.#ask({ records, statements: [] }, key, isLogged)).results;
  }

  /** Each statement with its signature, in their order, and its leaf if it is to be logged. Rejects if the thread died. */
  async sign(
    statements: readonly Unsigned[],
    key: SigningKey,
    { isLogged }: { readonly isLogged: boolean },
  ): Promise<readonly Signed[]> {
    return (await this.#ask({ records: [], statements }, key, isLogged)).signed;
  }

  #ask(
    work: Pick<SigningRequest, 'records' | 'statements'>,
    key: SigningKey,
    isLogged: boolean,
  ): Promise<SigningAnswer> {
    this.#worker ??= this.#startWorker();
    const id = ++this.#lastId;
    const answer = Promise.withResolvers<SigningAnswer>();
    this.#waiting.set(id, answer);
    const { key_id, privateKey, pinned } = key;
    const loggedKey = isLogged ? pinned : null;
    this.#worker.postMessage({ id, key: { key_id, privateKey }, loggedKey, ...work } satisfies SigningRequest);
    return answer.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker?.terminate();
  }

  #startWorker(): Worker {
    const worker = new Worker(new URL('./signing-thread.ts', import.meta.url), {
      resourceLimits: { maxYoungGenerationSizeMb: newObjectsMb },
    });
    worker.on('message', (answer: SigningAnswer) => this.#take(answer.id)?.resolve(answer));
    worker.on('error', (cause) => this.#lose(worker, new SignerError('the thread that signs died', { cause })));
    worker.on('exit', () => this.#lose(worker, new SignerError('the thread that signs ended')));
    return worker;
  }

  #take(id: number): PromiseWithResolvers<SigningAnswer> | undefined {
    const answer = this.#waiting.get(id);
    this.#waiting.delete(id);
    return answer;
  }

  /** Rejects every waiting call: all were given to this worker. */
  #lose(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    for (const id of [...this.#waiting.keys()]) this.#take(id)?.reject(error);
  }
}
