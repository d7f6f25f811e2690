/**
 * While the service works, takes those steps of the schema that a start leaves out. Such a step moves rows into the new form, or
 * removes the old form when no node needs it. Only one node at a time takes steps, and only a node that knows them. If that node
 * ends, another continues where it stopped.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { StandingLoop } from '../../../ground/waiting/standing-loop.ts';
import type { StoreError } from '../../store-error.ts';
import { Session } from '../connection.ts';
import { storeErrorOf } from '../error.ts';
import { stepsLeft } from './schema-state.ts';
import type { PostgresStep } from './steps.ts';
import { oneAtATime, type Try, tryStep } from './take-step.ts';

/** How long to wait while there are older nodes, while another node takes the step, or while the database is away. */
const patienceMilliseconds = 1000;
/** How long to wait if a lock was not free. */
const busyMilliseconds = 200;

export interface SchemaUpkeepOptions {
  readonly url: string;
  readonly steps: readonly PostgresStep[];
  readonly instance: string;
  /** Called when steps begin to fail. */
  readonly onProblem: (error: StoreError) => void;
}

/** One node's upkeep. It uses a connection of its own only while a step is left. */
export class SchemaUpkeep implements AsyncDisposable {
  readonly #options: SchemaUpkeepOptions;
  readonly #loop = new StandingLoop((signal) => this.#round(signal));
  #session: Session | null = null;
  #hasProblem = false;

  private constructor(options: SchemaUpkeepOptions) {
    this.#options = options;
  }

  static start(options: SchemaUpkeepOptions): SchemaUpkeep {
    const upkeep = new SchemaUpkeep(options);
    upkeep.#loop.start();
    return upkeep;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
    await this.#close();
  }

  async #round(signal: AbortSignal): Promise<void> {
    const milliseconds = await this.#advance().catch((thrown: unknown) => this.#failed(thrown));
    await pause(milliseconds, undefined, { signal }).catch(() => {});
  }

  /** Advances a step, and returns how long to wait before the next try. */
  async #advance(): Promise<number> {
    const { url, steps, instance } = this.#options;
    this.#session ??= await Session.open(url, {});
    const session = this.#session;
    const begunAt = performance.now();
    const tried = await oneAtATime(session, { waits: false }, async (): Promise<Try | 'complete'> => {
      const [step] = await stepsLeft(session, steps);
      // Dead nodes are not removed here, because beats remove their rows.
      return step === undefined ? 'complete' : await tryStep(session, step, { instance, removesDead: false });
    });
    this.#hasProblem = false;
    if (tried === 'complete') {
      this.#loop.stop();
      await this.#close();
      return 0;
    }
    // Half of the time is left to the service's own work.
    if (tried !== null && tried.kind !== 'prevented') return performance.now() - begunAt;
    return patienceMilliseconds;
  }

  async #failed(thrown: unknown): Promise<number> {
    const error = storeErrorOf(thrown);
    if (error.code === 'busy') return busyMilliseconds;
    if (!this.#hasProblem) this.#options.onProblem(error);
    this.#hasProblem = true;
    await this.#close();
    return patienceMilliseconds;
  }

  async #close(): Promise<void> {
    await this.#session?.[Symbol.asyncDispose]();
    this.#session = null;
  }
}
