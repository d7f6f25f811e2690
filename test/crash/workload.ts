/**
 * Clients that keep submitting while the service is killed again and again. They remember every promise by the service: an
 * acknowledged job, an acknowledged cancellation, and an idempotency key whose answer was lost.
 */
import { createServiceClient, type ServiceClient, ServiceFailure } from '@vouchbox/client';
import type { JobSubmission } from '@vouchbox/protocol';
import { CRASH_KEY } from './service-process.ts';
import type { Witness } from './witness.ts';

/** The promises about one job, and the output that the job must have written if it ran to its end. */
export interface Promised {
  /** The number that the job's program reports to the witness. */
  readonly number: number;
  readonly idempotencyKey: string;
  readonly submission: JobSubmission;
  readonly stdout: string;
  readonly exitCode: number;
  /** Null if the answer was lost. The service has then made one job or none. */
  job_id: string | null;
  /** Whether the job's cancellation was requested, and whether the service acknowledged it. */
  cancellation: 'none' | 'asked' | 'promised';
}

/** How many jobs are submitted to one process of the service, and by how many clients. */
export interface Load {
  readonly clients: number;
  readonly jobsEach: number;
}

/** A client that never retries, so that the test sees lost answers. */
export function crashClient(url: string): ServiceClient {
  return createServiceClient({
    baseUrl: url,
    apiKey: CRASH_KEY,
    retry: { attemptsMax: 1 },
    timeoutMilliseconds: 60_000,
  });
}

const cancelledShare = 0.1;

export class Workload {
  readonly promises: Promised[] = [];
  readonly #random: () => number;
  readonly #witness: Witness;
  #made = 0;

  constructor(random: () => number, witness: Witness) {
    this.#random = random;
    this.#witness = witness;
  }

  /** Submits a few jobs from each of several clients at once. Stops early if the service is gone. */
  async run(url: string, { clients, jobsEach }: Load): Promise<void> {
    const client = crashClient(url);
    await Promise.all(Array.from({ length: clients }, () => this.#submitUntilGone(client, jobsEach)));
  }

  /** Repeats every submission whose answer was lost. The same key returns the job made earlier, or makes the job now. */
  async settle(url: string): Promise<void> {
    const client = crashClient(url);
    for (const promised of this.promises.filter(({ job_id }) => job_id === null)) {
      const { job_id } = await client.submit(promised.submission, { idempotencyKey: promised.idempotencyKey });
      promised.job_id = job_id;
    }
  }

  /**
   * Submits one job, and may cancel it. A slow job writes a line every 0.2 seconds. Rejects, as the client does, if the
   * answer is a refusal or is lost.
   */
  async submitOne(client: ServiceClient, { isSlow = false } = {}): Promise<Promised> {
    const promised = this.#next(isSlow);
    const isToEnd = this.#random() < cancelledShare;
    this.promises.push(promised);
    const { job_id } = await client.submit(promised.submission, { idempotencyKey: promised.idempotencyKey });
    promised.job_id = job_id;
    if (isToEnd) await cancel(client, promised);
    return promised;
  }

  async #submitUntilGone(client: ServiceClient, jobs: number): Promise<void> {
    for (let count = 0; count < jobs; count++) {
      try {
        await this.submitOne(client);
      } catch (error) {
        if (error instanceof ServiceFailure && error.code !== 'shutting_down') throw error;
        return;
      }
    }
  }

  #next(isSlow: boolean): Promised {
    const number = this.#made++;
    const lines = 1 + Math.floor(this.#random() * 40);
    const pause = this.#random() < 0.3 ? (this.#random() * 0.4).toFixed(3) : '0';
    const exitCode = this.#random() < 0.2 ? 3 : 0;
    const write = isSlow ? `for at in $(seq ${lines}); do echo $at; sleep 0.2; done` : `seq ${lines}`;
    const code = `${this.#witness.commandOf(number)}; echo job ${number}; sleep ${pause}; ${write}; exit ${exitCode}`;
    const stdout = `job ${number}\n${Array.from({ length: lines }, (_, index) => `${index + 1}\n`).join('')}`;
    // A slow program sleeps for up to eight seconds, and also starts forty programs.
    const submission: JobSubmission = { language: 'bash', code, limits: { wall_seconds: 60 } };
    const idempotencyKey = `crash-${number}`;
    return { number, idempotencyKey, submission, stdout, exitCode, job_id: null, cancellation: 'none' };
  }
}

async function cancel(client: ServiceClient, promised: Promised): Promise<void> {
  promised.cancellation = 'asked';
  const { already_terminal } = await client.cancel(promised.job_id as string);
  promised.cancellation = already_terminal ? 'none' : 'promised';
}

/** Repeatable numbers in [0, 1), made from a seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
