/**
 * Readers of streams that lose their nodes: each goes on at another node behind the last event that it saw. What they saw
 * of a job must be its history, without a gap and without an event twice.
 */
import { createServiceClient } from '@vouchbox/client';
import { CRASH_KEY } from '../crash/service-process.ts';

/** How long a reader waits before it tries another node. */
const pauseMilliseconds = 200;

export class Followers {
  readonly #anyUrl: () => string | null;
  readonly #following: Promise<void>[] = [];
  readonly #problems: string[] = [];
  #isOver = false;
  #resumed = 0;

  constructor(anyUrl: () => string | null) {
    this.#anyUrl = anyUrl;
  }

  /** Begins to follow a job to its end. */
  follow(job_id: string): void {
    this.#following.push(this.#follow(job_id));
  }

  /** Resolves when every job was followed to its end, as what was wrong. */
  async problems(): Promise<readonly string[]> {
    await Promise.all(this.#following);
    return this.#problems;
  }

  /** Lets readers that still follow give up. */
  stop(): void {
    this.#isOver = true;
  }

  get counts(): { readonly followed: number; readonly resumed: number } {
    return { followed: this.#following.length, resumed: this.#resumed };
  }

  async #follow(job_id: string): Promise<void> {
    let last = 0;
    for (let tries = 0; !this.#isOver; tries++) {
      const url = this.#anyUrl();
      if (tries > 0) await new Promise((resolve) => setTimeout(resolve, pauseMilliseconds));
      if (url === null) continue;
      const client = createServiceClient({ baseUrl: url, apiKey: CRASH_KEY, retry: { attemptsMax: 1 } });
      if (last > 0) this.#resumed += 1;
      try {
        for await (const { seq, kind } of client.follow(job_id, { after: last })) {
          if (seq !== last + 1) this.#problems.push(`${job_id}: event ${seq} came after ${last}`);
          last = seq;
          if (kind === 'finished') return;
        }
      } catch {
        // The node is gone, or cannot reach the database: another is asked.
      }
    }
    this.#problems.push(`${job_id}: nobody saw its end`);
  }
}
