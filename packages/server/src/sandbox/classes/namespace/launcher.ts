/**
 * The protocol with one launcher, a small process that forks cells of one language and runtime pack (`launcher.h`). The first
 * request for a cell starts the launcher, and so does the first request after it has died; its cells die with it. After a number
 * of cells or some time another launcher replaces it, so that later cells do not share the things that all copies of one template
 * have in common (decision 0049). A launcher that no longer answers is killed with its cells; the next request starts another.
 */
import { unless } from '../../../ground/waiting/unless.ts';
import { type LaunchedCell, type LauncherOptions, type LaunchRequest, Serving } from './serving.ts';

/** The launcher, which makes cells until it is disposed. */
export class Launcher implements AsyncDisposable {
  readonly #options: LauncherOptions;
  /** The process that makes the next cells. */
  #serving: Promise<Serving> | null = null;
  /** The process that will replace the current one. */
  #successor: Promise<Serving> | null = null;
  /** Every process that has not ended, including those that only wait for the end of their cells. */
  readonly #processes = new Set<Serving>();
  #isClosed = false;

  constructor(options: LauncherOptions) {
    this.#options = options;
  }

  /** Makes a cell and its groups. Rejects if the cell or the launcher cannot be made, and then leaves nothing behind. */
  async make(request: LaunchRequest): Promise<LaunchedCell> {
    if (this.#isClosed) throw new Error('the launcher is closed');
    const serving = await unless(request.unwanted, this.#usable());
    const made = serving.make(request);
    if (serving.isDue) this.#replace(serving);
    return await made;
  }

  /** Makes no more cells. Resolves once the last cell and the launcher are gone. */
  async retire(): Promise<void> {
    await this.#startNoMore();
    for (const serving of this.#processes) serving.retire();
    await Promise.all([...this.#processes].map((serving) => serving.ended));
  }

  /** Ends the launcher and every cell that it made. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#startNoMore();
    await Promise.all([...this.#processes].map((serving) => serving.close(this.#options.silentMilliseconds)));
  }

  async #startNoMore(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([this.#serving, this.#successor]);
  }

  async #usable(): Promise<Serving> {
    for (;;) {
      this.#serving ??= this.#start();
      const serving = await this.#serving;
      // Another process may have replaced this one meanwhile.
      if (!serving.isRetired) return serving;
    }
  }

  #start(): Promise<Serving> {
    const starting = Serving.start(this.#options);
    const end = (): void => {
      if (this.#serving === starting) this.#serving = null;
    };
    starting.then((serving) => {
      this.#processes.add(serving);
      void serving.lost.then(end);
      void serving.ended.then(() => this.#processes.delete(serving));
    }, end);
    return starting;
  }

  /** The old process makes cells until the new one is ready. If the new one cannot be started, the next request tries again. */
  #replace(serving: Serving): void {
    if (this.#successor !== null || serving.isRetired || this.#isClosed) return;
    this.#successor = this.#start();
    this.#successor
      .then(() => {
        this.#serving = this.#successor;
        serving.retire();
      })
      .catch(() => {})
      .finally(() => {
        this.#successor = null;
      });
  }
}
