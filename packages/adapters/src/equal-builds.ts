/** Shares one build among equal requests that arrive at the same time. The service itself reuses only builds that have ended. */
import { createHash } from 'node:crypto';
import type { RunResult } from '@vouchbox/client';

/** The running builds. A request for a build that is already running waits for that build. */
export class EqualBuilds {
  readonly #running = new Map<string, Promise<RunResult | null>>();

  /**
   * Does the work, or returns the result of equal work that is already running. A failure is not shared: each submission of a
   * program that does not compile has its own job. @param build all values that determine the result
   */
  async once(build: object, work: () => Promise<RunResult>): Promise<RunResult> {
    const key = createHash('sha256').update(JSON.stringify(build)).digest('base64url');
    const running = this.#running.get(key);
    if (running !== undefined) {
      const shared = await running;
      return shared?.status === 'succeeded' ? shared : await work();
    }
    const own = work();
    const ended = own.catch(() => null).finally(() => this.#running.delete(key));
    this.#running.set(key, ended);
    return await own;
  }
}
