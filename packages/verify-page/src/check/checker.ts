/** The page's side of the checking thread. The thread answers requests in the order in which they were made. */
import type { ExaminationOptions } from '@vouchbox/verifier';
import { IntakeProblem } from '../intake/bounds.ts';
import type { DroppedFile, Files } from '../intake/export-files.ts';
import type { CheckAnswer, CheckRequest } from './check-worker.ts';
import type { Findings } from './findings.ts';

const NO_THREAD =
  'This browser could not start a check, or had too little memory for it. Try another, or use service-verify.';

/** Checks the files of one export. */
export class Checker {
  readonly #worker = startWorker();
  readonly #waiting: PromiseWithResolvers<CheckAnswer>[] = [];

  constructor() {
    this.#worker.addEventListener('message', ({ data }: MessageEvent<CheckAnswer>) =>
      this.#waiting.shift()?.resolve(data),
    );
    this.#worker.addEventListener('error', () => this.#fail());
    this.#worker.addEventListener('messageerror', () => this.#fail());
  }

  /**
   * Reads and unpacks the given files.
   * @throws IntakeProblem with the reason why the files are not an export
   */
  take(dropped: readonly DroppedFile[]): Promise<Files> {
    return this.#takeBy({ kind: 'take', dropped });
  }

  /** Takes files that already have the names of an export. */
  takeNamed(files: Files): Promise<Files> {
    return this.#takeBy({ kind: 'files', files });
  }

  async #takeBy(request: CheckRequest): Promise<Files> {
    const answer = await this.#ask(request);
    if (answer.kind !== 'files') throw problemOf(answer);
    return answer.files;
  }

  /** Makes every check on the files that were taken. */
  async examine(options: ExaminationOptions): Promise<Findings> {
    const answer = await this.#ask({ kind: 'examine', options });
    if (answer.kind !== 'findings') throw problemOf(answer);
    return answer.findings;
  }

  /** Waits until every request is answered. */
  async settled(): Promise<void> {
    await this.#waiting.at(-1)?.promise;
  }

  /** Ends the thread, even in the middle of its work. Open requests get no answer. */
  stop(): void {
    this.#worker.terminate();
  }

  #ask(request: CheckRequest): Promise<CheckAnswer> {
    const waiting = Promise.withResolvers<CheckAnswer>();
    this.#waiting.push(waiting);
    this.#worker.postMessage(request);
    return waiting.promise;
  }

  #fail(): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve({ kind: 'problem', text: NO_THREAD });
  }
}

function problemOf(answer: CheckAnswer): Error {
  const text = answer.kind === 'problem' ? answer.text : null;
  return text === null ? new Error('the check ended without an answer') : new IntakeProblem(text);
}

/** The same type as in `lib.dom` from TypeScript 6.1 on. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL(url: string): string };
}

/**
 * Starts the page's script as a thread, but not as a module: a page that was opened from a disk has its own origin and may load
 * no module. The page's policy allows only workers that the page itself makes, and only this function may give a worker its
 * address.
 */
function startWorker(): Worker {
  const script = new Blob(['"use strict";', document.scripts[0]?.text ?? ''], { type: 'text/javascript' });
  const url = URL.createObjectURL(script);
  const worker = new Worker(trust(url));
  // Once the thread answers or fails to start, the address of its script is no longer needed.
  for (const event of ['message', 'error'])
    worker.addEventListener(event, () => URL.revokeObjectURL(url), { once: true });
  return worker;
}

let policy: ReturnType<TrustedTypes['createPolicy']> | undefined;

function trust(url: string): string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  policy ??= trustedTypes?.createPolicy('check-worker', { createScriptURL: (own) => own });
  return policy?.createScriptURL(url) ?? url;
}
