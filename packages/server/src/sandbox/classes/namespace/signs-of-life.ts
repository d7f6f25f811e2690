/**
 * Notices that a launcher no longer answers. While an answer is awaited, a period without a word from the launcher ends with a
 * question, and a second such period means that the launcher hangs. One period would not suffice: after a pause of this process,
 * its timers run before it reads the messages that arrived during the pause.
 */

export interface SignsOfLifeOptions {
  /** How long each period is. */
  readonly milliseconds: number;
  /** Whether anything is awaited. If not, the launcher may be silent. */
  readonly isAwaited: () => boolean;
  /** Asks for any answer. */
  readonly ask: () => void;
  /** Called at most once, when the launcher hangs. */
  readonly hangs: () => void;
}

/** Watches a launcher. It runs no timer while nothing is awaited, and keeps no process alive. */
export class SignsOfLife implements Disposable {
  readonly #options: SignsOfLifeOptions;
  #timer: NodeJS.Timeout | undefined;
  #isHeard = false;
  #wasAsked = false;

  constructor(options: SignsOfLifeOptions) {
    this.#options = options;
  }

  /** Notes that an answer is awaited from now on. */
  expect(): void {
    this.#timer ??= setTimeout(() => this.#look(), this.#options.milliseconds).unref();
  }

  /** Notes that the launcher said something. */
  hear(): void {
    this.#isHeard = true;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #look(): void {
    const { isAwaited, ask, hangs } = this.#options;
    const isSilent = !this.#isHeard;
    const wasAsked = this.#wasAsked;
    this.#timer = undefined;
    this.#isHeard = false;
    this.#wasAsked = false;
    if (!isAwaited()) return;
    if (isSilent && wasAsked) {
      hangs();
      return;
    }
    if (isSilent) {
      ask();
      this.#wasAsked = true;
    }
    this.expect();
  }
}
