/**
 * The one way to add to a job's past, or to follow it. Every addition is durable before anyone is nudged, and
 * every follower reads the store: history first, then live, with nothing lost, repeated or reordered between the two.
 */
import { isTerminal, type JobEvent } from '@vouchbox/protocol';
import type { EventPage, JobKey } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { Nudges } from './nudges.ts';
import { jobNotFound } from './refusals.ts';

/** The store's writes to a job's past, each followed by the nudges it owes. They commit and answer as the store's do. */
export interface History extends Pick<Store, 'admit' | 'start' | 'append' | 'finish' | 'requestCancel'> {
  /**
   * Pages of stored events after a cursor, then of new ones as they come. Ends after the terminal event, or when `signal`
   * aborts. A slow consumer holds up only itself.
   *
   * @throws ServiceError `job_not_found` for an unknown or a foreign job.
   */
  tail(
    key: JobKey,
    from: { readonly after: number; readonly signal: AbortSignal },
  ): AsyncGenerator<readonly JobEvent[]>;
  /** Waits until the job is terminal or `signal` aborts; at once to false if there is no such job. */
  ended(key: JobKey, signal: AbortSignal): Promise<boolean>;
}

/** A history over a store, shared by everything in the process that writes or reads jobs. */
export function createHistory(store: Store, nudges: Nudges): History {
  const changed = (key: JobKey) => nudges.send(`events ${key.job_id}`);
  const ended = (key: JobKey) => {
    changed(key);
    nudges.send(`end ${key.job_id}`);
    nudges.send('outbox');
  };
  return {
    async admit(input) {
      const result = await store.admit(input);
      if (result.kind === 'created') nudges.send('queue');
      return result;
    },
    async start(input) {
      const started = await store.start(input);
      if (started) changed(input);
      return started;
    },
    async append(key, events) {
      const appended = await store.append(key, events);
      if (appended) changed(key);
      return appended;
    },
    async finish(input) {
      const finished = await store.finish({ ...input, isAwaited: nudges.isAwaited(`end ${input.job_id}`) });
      if (finished) ended(input);
      return finished;
    },
    async requestCancel(input) {
      const result = await store.requestCancel(input);
      if (result.kind === 'cancelled') ended(input);
      if (result.kind === 'running') changed(input);
      return result;
    },
    tail: (key, from) => tail({ store, nudges, key, ...from }),
    ended: (key, signal) => waitForEnd({ store, nudges, key, signal }),
  };
}

interface Follow {
  readonly store: Store;
  readonly nudges: Nudges;
  readonly key: JobKey;
  readonly signal: AbortSignal;
}

async function readPage(store: Store, key: JobKey, page: { after: number; limit: number }): Promise<EventPage> {
  const found = await store.events({ key, ...page });
  if (found === null) throw jobNotFound();
  return found;
}

/** Events that a follower is handed at once: many of them follow, and each page of theirs is held until it is sent. */
const followLimit = 64;

async function* tail({ store, nudges, key, signal, ...from }: Follow & { after: number }) {
  let { after } = from;
  while (!signal.aborted) {
    // Registered before the page is read: what is added while it is read is then not waited for in vain.
    using nudge = nudges.next(`events ${key.job_id}`, signal);
    const { events, complete } = await readPage(store, key, { after, limit: followLimit });
    const last = events.at(-1);
    if (last !== undefined) {
      after = last.seq;
      yield events;
    }
    if (complete) return;
    if (last === undefined) await nudge.arrived;
  }
}

/** The nudge comes once the end is stored: nothing is read again for it. */
async function waitForEnd({ store, nudges, key, signal }: Follow): Promise<boolean> {
  using nudge = nudges.next(`end ${key.job_id}`, signal);
  if (!store.isUnderWay(key)) {
    const job = await store.jobSummary(key);
    if (job === null) return false;
    if (isTerminal(job.status)) return true;
  }
  await nudge.arrived;
  return true;
}
