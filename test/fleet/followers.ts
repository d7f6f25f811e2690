/**
 * Readers of streams from nodes that fail. Each reader continues at another node after the last event that it saw. It reads
 * the frames itself: the client would fetch events that a stream left out, and drop events that came twice. The events
 * of a job must be the history that its receipt names, each event once.
 */
import { verifyChain } from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { crashClient } from '../crash/workload.ts';

/** How long a reader waits before it tries another node. */
const pauseMilliseconds = 200;

interface Followed {
  readonly job_id: string;
  /** Every event that came, in the order of the frames. */
  readonly events: JobEvent[];
}

export class Followers {
  readonly #anyUrl: () => string | null;
  readonly #following: Promise<Followed>[] = [];
  #resumed = 0;
  #underWay = 0;

  constructor(anyUrl: () => string | null) {
    this.#anyUrl = anyUrl;
  }

  /** Begins to follow a job to its end. */
  follow(job_id: string): void {
    this.#underWay += 1;
    this.#following.push(this.#follow({ job_id, events: [] }).finally(() => (this.#underWay -= 1)));
  }

  /** How many jobs are still being followed. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Waits until every job was followed to its end, and returns all that was wrong. `url` is a running node's address. */
  async problems(url: string): Promise<readonly string[]> {
    const client = crashClient(url);
    const problems: string[] = [];
    for (const { job_id, events } of await Promise.all(this.#following)) {
      const { receipt } = await client.detail(job_id);
      const gap = events.findIndex(({ seq }, at) => seq !== at + 1);
      if (gap >= 0) problems.push(`${job_id}: its stream has event ${events[gap]?.seq} in place ${gap + 1}`);
      if (receipt === undefined) problems.push(`${job_id}: it has no receipt`);
      else {
        const { head, count } = receipt.event_chain;
        if (verifyChain(events, { head, count }).kind !== 'intact') problems.push(`${job_id}: its stream is another`);
      }
    }
    return problems;
  }

  get counts(): { readonly followed: number; readonly resumed: number } {
    return { followed: this.#following.length, resumed: this.#resumed };
  }

  async #follow(followed: Followed): Promise<Followed> {
    const { events } = followed;
    for (;;) {
      const url = this.#anyUrl();
      const before = events.length;
      // If this node is gone or cannot reach the database, the reader continues at another node.
      if (url !== null) await readStream(url, followed).catch(() => {});
      if (before > 0 && events.length > before) this.#resumed += 1;
      if (events.at(-1)?.kind === 'finished') return followed;
      await new Promise((resolve) => setTimeout(resolve, pauseMilliseconds));
    }
  }
}

/** Adds the events from one connection until the connection ends. */
async function readStream(url: string, { job_id, events }: Followed): Promise<void> {
  const { stream_url } = await crashClient(url).streamTicket(job_id);
  const address = new URL(stream_url, url.replace('http', 'ws'));
  address.searchParams.set('after', String(events.at(-1)?.seq ?? 0));
  const socket = new WebSocket(address);
  await new Promise<void>((resolve) => {
    socket.addEventListener('message', ({ data }) => events.push(JSON.parse(String(data)) as JobEvent));
    socket.addEventListener('close', () => resolve());
  });
}
