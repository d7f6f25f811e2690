/**
 * The service's side of the signing thread. The thread starts with the first record. If it dies, the records that it had
 * are lost, and the next record starts another thread.
 */
import { Worker } from 'node:worker_threads';
import type { Signed, Unsigned } from '@vouchbox/evidence';
import type { TerminalRecord } from '../../store/records/answers.ts';
import type { SigningKey } from './keys/key-files.ts';
import type { SigningAnswer, SigningRequest, SigningResult } from './signing-messages.ts';

/** How many MiB the thread has for new objects. As in the store's threads, little data outlives a call. */
const newObjectsMb = 8;

/** Thrown if the signing thread does not answer. */
export class SignerError extends Error {
  override readonly name = 'SignerError';
}

/** Signs records on a separate thread. Disposing it ends the thread and rejects the calls that still wait. */
export class Signer implements AsyncDisposable {
  readonly #waiting = new Map<number, PromiseWithResolvers<SigningAnswer>>();
  #worker: Worker | null = null;
  #lastId = 0;

  /** One result for each record, in the same order. Rejects if the thread died. An empty call shows whether it is alive. */
  async attest(
    records: readonly TerminalRecord[],
    key: SigningKey,
    { isLogged = false }: { readonly isLogged?: boolean } = {},
  ): Promise<readonly SigningResult[]> {
    return (await this.#ask({ records, statements: [] }, key, isLogged)).results;
  }

  /** Each statement, in the same order, with its signature and, if it will be logged, its leaf. Rejects if the thread died. */
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

  /** Rejects every waiting call, because this worker had them all. */
  #lose(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    for (const id of [...this.#waiting.keys()]) this.#take(id)?.reject(error);
  }
}
