/** Callers that make bursts. Each is a separate process and obeys one order after the other. An order is a line of JSON. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export type CallerName = 'typescript' | 'python' | 'piston' | 'judge0' | 'sandbox-fusion';

/** The order to run a short program this many times, with at most this many calls open. */
export interface BurstOrder {
  readonly runs: number;
  readonly atOnce: number;
}

export interface Answered {
  /** The time from the first call to the last answer. */
  readonly milliseconds: number;
  /** How many calls failed or did not return what the program printed. */
  readonly unanswered: number;
  /** Why one of these calls failed; null if none did. */
  readonly problem: string | null;
}

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export class CallerProcess implements AsyncDisposable {
  readonly name: CallerName;
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string, undefined>;

  constructor(name: CallerName, { url, key }: { readonly url: string; readonly key: string }) {
    this.name = name;
    const [file, ...words] =
      name === 'python' ? ['/usr/bin/python3', pathOf('caller.py')] : [process.execPath, pathOf('caller.ts'), name];
    const PYTHONPATH = fileURLToPath(new URL('../../clients/python/src', import.meta.url));
    this.#child = spawn(file as string, [...words, url], {
      env: { ...process.env, PYTHONPATH, CALLER_KEY: key },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    if (this.#child.stdout === null) throw new Error('the caller has no output');
    this.#answers = createInterface(this.#child.stdout)[Symbol.asyncIterator]();
  }

  async order(order: BurstOrder): Promise<Answered> {
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`);
    const answer: IteratorResult<string, undefined> = await this.#answers.next();
    if (answer.done === true) throw new Error(`the caller ${this.name} ended`);
    return JSON.parse(answer.value) as Answered;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.stdin?.end();
    await ended;
  }
}
