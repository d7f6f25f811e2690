/**
 * Whether cells can be made now, and not only when the service started: a runtime may vanish, a host may run out of what
 * cells are made of. Every preparation says something of it; after one that failed a cell of its own is tried, so that
 * one broken pack is not taken for a broken host, and so that a service without jobs notices when the fault is gone.
 */
import { BootstrapError, type CellRequest, type Provider, type Sandbox } from './sandbox/sandbox.ts';
import type { Log } from './telemetry/log.ts';

/** While cells cannot be made, one is tried again when somebody asks, at most this often. */
const retryMilliseconds = 1000;

export interface ProviderHealthOptions {
  readonly provider: Pick<Provider, 'prepare' | 'languages'>;
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** Disposing waits for the trial under way, and no other begins. */
export class ProviderHealth implements AsyncDisposable {
  readonly #options: ProviderHealthOptions;
  readonly #now: () => number;
  #isReady: boolean;
  #triedAt = Number.NEGATIVE_INFINITY;
  #trial: Promise<void> | null = null;
  #isDisposed = false;

  constructor(options: ProviderHealthOptions) {
    this.#options = options;
    // What the preflight found is where it begins.
    this.#isReady = options.provider.languages.length > 0;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Whether the last that is known of cells is that they can be made. Asking may begin a trial and never waits for it. */
  isReady(): boolean {
    if (!this.#isReady && this.#now() - this.#triedAt >= retryMilliseconds) this.#try();
    return this.#isReady;
  }

  /** The provider's own, noted. */
  async prepare(request: CellRequest): Promise<Sandbox> {
    try {
      const sandbox = await this.#options.provider.prepare(request);
      this.#note(true);
      return sandbox;
    } catch (error) {
      if (error instanceof BootstrapError) this.#try();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await this.#trial;
  }

  #try(): void {
    if (this.#trial !== null || this.#isDisposed) return;
    this.#triedAt = this.#now();
    this.#trial = this.#tryCell().finally(() => {
      this.#trial = null;
    });
  }

  async #tryCell(): Promise<void> {
    const { provider, log } = this.#options;
    const [language] = provider.languages;
    if (language === undefined) return;
    try {
      await using _cell = await provider.prepare({ language, runtime: null });
      this.#note(true);
    } catch (error) {
      if (this.#isReady) log.error({ err: error }, 'cells cannot be made any more');
      this.#note(false);
    }
  }

  #note(isReady: boolean): void {
    if (isReady && !this.#isReady) this.#options.log.info('cells can be made again');
    this.#isReady = isReady;
  }
}
