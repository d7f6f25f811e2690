/**
 * The only way to add to a job's history, or to follow it. Every addition is on disk before anybody is told about it. Every
 * follower asks the store, first for the history and then for new events, so no event is lost, repeated or reordered.
 */
import { isTerminal, type JobEvent } from '@vouchbox/protocol';
import type { JsonText } from '../ground/json-text.ts';
import { Deadline } from '../ground/waiting/deadline.ts';
import { within } from '../ground/waiting/within.ts';
import { movedBytesMin } from '../store/objects/content-places.ts';
import type { EventPage, GivenAnswer } from '../store/records/answers.ts';
import { eventText } from '../store/records/event-text.ts';
import type { JobKey } from '../store/records/rows.ts';
import type { Store } from '../store/store.ts';
import type { Nudge, Nudges, Topic } from './nudges.ts';
import { jobNotFound, shuttingDown } from './refusals.ts';

/** The store's writes to a job's history. They commit and answer like the store's own methods, and also send nudges. */
export interface History
  extends Pick<Store, 'admit' | 'start' | 'append' | 'finish' | 'requestCancel' | 'answerToolCall'> {
  /**
   * Pages of events: first the stored events after a cursor, then new events as they come. Ends after the terminal event, or
   * when `signal` aborts. A slow consumer holds up only itself.
   *
   * @throws ServiceError `job_not_found` for an unknown job or another tenant's job.
   */
  tail(
    key: JobKey,
    from: { readonly after: number; readonly signal: AbortSignal },
  ): AsyncGenerator<readonly JsonText<JobEvent>[]>;
  /** The answers to a program's tool calls, each once and in the order in which they were stored, until `signal` aborts. */
  toolAnswers(key: JobKey, signal: AbortSignal): AsyncGenerator<readonly GivenAnswer[]>;
  /** Resolves once the job is terminal or `signal` aborts. Resolves at once if there is no such job. */
  ended(key: JobKey, signal: AbortSignal): Promise<void>;
}

/**
 * How often a follower looks at the store if other nodes may change the job. They report each change, but reports may be lost.
 */
const lookMilliseconds = 2000;

/** The history of all jobs. `ownNudges` stay in this process: the store itself tells other nodes about events and answers. */
export function createHistory(store: Store, nudges: Nudges, ownNudges: Pick<Nudges, 'send'> = nudges): History {
  const changed = (key: JobKey) => nudges.send(`events ${key.job_id}`);
  const ended = (key: JobKey) => {
    changed(key);
    nudges.send(`end ${key.job_id}`);
    nudges.send('outbox');
  };
  const taken = takenAnswers(store, ownNudges);
  return {
    async admit(input) {
      const result = await store.admit(input);
      if (result.kind === 'created') nudges.send('queue', { spec: input.requested_spec });
      if (result.kind === 'created' && input.promise !== undefined) nudges.send('promises');
      return result;
    },
    async start(input) {
      const started = await store.start(input);
      if (!started) return false;
      changed(input);
      if (input.interactor !== undefined) changed({ ...input, job_id: input.interactor.job_id });
      return true;
    },
    async append(key, events) {
      const appended = await store.append(key, events, nudges.isAwaited(`events ${key.job_id}`));
      if (appended) ownNudges.send(`events ${key.job_id}`);
      return appended;
    },
    async finish(input) {
      const finished = await store.finish({ ...input, isAwaited: nudges.isAwaited(`end ${input.job_id}`) });
      if (!finished) return false;
      ended(input);
      if (input.artifacts.some(({ content }) => content.length >= movedBytesMin)) nudges.send('contents');
      return true;
    },
    async requestCancel(input) {
      const result = await store.requestCancel(input);
      if (result.kind !== 'cancelled' && result.kind !== 'running') return result;
      const told = result.kind === 'cancelled' ? ended : changed;
      told(input);
      if (result.peer !== undefined) told({ ...input, job_id: result.peer });
      return result;
    },
    async answerToolCall(input) {
      const isFollowed = nudges.isAwaited(`events ${input.job_id}`);
      const result = await store.answerToolCall({ ...input, isFollowed });
      if (result.kind !== 'taken') return result;
      // The program gets the answer first, because the program is waiting for it.
      taken.get(input.job_id)?.push(result);
      ownNudges.send(`answers ${input.job_id}`);
      ownNudges.send(`events ${input.job_id}`);
      return result;
    },
    toolAnswers: (key, signal) => answersOf({ store, nudges, key, signal, taken }),
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

/** The most events in a follower's page. There may be many followers, and each holds its page in memory until it is sent. */
const followLimit = 64;

async function* tail({ store, nudges, key, signal, ...from }: Follow & { after: number }) {
  let { after } = from;
  while (!signal.aborted) {
    // The nudge is registered before the page is read, so that an event added during the read is not missed.
    const topic: Topic = `events ${key.job_id}`;
    using nudge = nudges.next(topic, signal);
    const { events, complete } = await readPage(store, key, { after, limit: followLimit });
    const last = events.at(-1);
    if (last !== undefined) {
      after = last.seq;
      yield events.map(eventText);
    }
    if (complete) return;
    // A page that is not full is the last for now. Each later event sends a nudge, even if another node stores the event.
    if (events.length < followLimit) await arrival(store, nudge, store.isUnderWay(key) ? null : topic);
  }
}

/** Answers that this process stored or heard of, for jobs whose programs run in this process and wait for them. */
type TakenAnswers = Map<string, GivenAnswer[]>;

function takenAnswers({ fleet }: Store, ownNudges: Pick<Nudges, 'send'>): TakenAnswers {
  const taken: TakenAnswers = new Map();
  fleet?.listen({
    heard(topics, added) {
      for (const [job_id, own] of taken) {
        if (topics !== null && !topics.includes(`answers ${job_id}`)) continue;
        // If the message does not carry its answer, that answer is read, together with all earlier ones not given yet.
        if (added.length === 0) own.length = 0;
        for (const { answer } of added) if (answer !== undefined) own.push(answer);
        ownNudges.send(`events ${job_id}`);
      }
    },
  });
  return taken;
}

/** The answers to calls. The store is read only if another node may have taken an answer that this process missed. */
async function* answersOf({ store, nudges, key, signal, taken }: Follow & { readonly taken: TakenAnswers }) {
  const own: GivenAnswer[] = [];
  let after = 0;
  taken.set(key.job_id, own);
  try {
    while (!signal.aborted) {
      const topic: Topic = `answers ${key.job_id}`;
      using nudge = nudges.next(topic, signal);
      const known = own.splice(0).filter(({ answer_seq }) => answer_seq > after);
      const isWhole = known.every((answer, at) => answer.after === (known[at - 1]?.answer_seq ?? after));
      const isRead = store.fleet && (known.length === 0 || !isWhole);
      const answers = isRead ? await store.toolAnswers({ ...key, after }) : known;
      after = answers.at(-1)?.answer_seq ?? after;
      if (answers.length > 0 && !signal.aborted) yield answers;
      // If an answer came meanwhile, its nudge has already arrived.
      await arrival(store, nudge, topic);
    }
  } finally {
    if (taken.get(key.job_id) === own) taken.delete(key.job_id);
  }
}

/** Waits for the end. The nudge comes once the end is stored, so a store with a single process need not be read again. */
async function waitForEnd({ store, nudges, key, signal }: Follow): Promise<void> {
  for (;;) {
    const topic: Topic = `end ${key.job_id}`;
    using nudge = nudges.next(topic, signal);
    const runsHere = store.isUnderWay(key);
    if (!runsHere) {
      const job = await store.jobSummary(key);
      if (job === null || isTerminal(job.status)) return;
    }
    await arrival(store, nudge, runsHere ? null : topic);
    if (!store.fleet || signal.aborted) return;
    // The end was stored by this process.
    if (runsHere && !store.isUnderWay(key)) return;
  }
}

/** How long a caller waits. The signal ends the wait early: it aborts when the client is gone. */
export interface Wait {
  readonly waitSeconds: number;
  readonly signal: AbortSignal;
}

/** The awaited change, and the parts that a wait for it uses. If the caller does not wait, the answer is read once. */
interface Awaited {
  readonly topic: Topic;
  readonly wait: Wait | undefined;
  readonly nudges: Pick<Nudges, 'next'>;
  readonly store: Pick<Store, 'fleet'>;
  /** Aborts when the service stops. */
  readonly shutdown: AbortSignal;
  /** Whether this process makes every awaited change. By default, other nodes may make some. */
  readonly isOwn?: () => boolean;
}

/** Reads at once and after each nudge, until the answer suffices or the wait is over. */
export async function readUntil<Answer>(
  isEnough: (answer: Answer) => boolean,
  read: () => Promise<Answer>,
  { topic, wait, nudges, store, shutdown, isOwn = () => false }: Awaited,
): Promise<Answer> {
  if (wait === undefined || wait.waitSeconds === 0) return await read();
  using deadline = new Deadline(Math.ceil(wait.waitSeconds * 1000), [wait.signal, shutdown]);
  for (;;) {
    // The nudge is registered before the read, so that a change during the read is not missed.
    using nudge = nudges.next(topic, deadline.signal);
    const answer = await read();
    if (isEnough(answer) || deadline.signal.aborted) return answer;
    await arrival(store, nudge, isOwn() ? null : topic);
  }
}

/** Throws if the caller or the service ended a wait early. @throws ServiceError `shutting_down` */
export function refuseInterrupted(
  { waitSeconds, signal }: Wait,
  { shutdown }: { readonly shutdown: AbortSignal },
): void {
  if (waitSeconds === 0) return;
  signal.throwIfAborted();
  if (shutdown.aborted) throw shuttingDown();
}

/**
 * Waits for the nudge, but only briefly if other nodes share the store. Their messages about the topic arrive, too. A
 * null topic means that only this process makes the change; then there are no such messages.
 */
async function arrival({ fleet }: Pick<Store, 'fleet'>, { arrived }: Nudge, topic: Topic | null): Promise<void> {
  if (!fleet) return await arrived;
  using _following = topic === null ? null : fleet.follow(topic);
  await within(arrived, lookMilliseconds, undefined);
}
