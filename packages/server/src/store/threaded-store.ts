/**
 * A store whose commands run on two threads: one changes the store, and the other reads it. This module passes each call to one
 * of the threads, and keeps in memory what later calls would otherwise read again.
 */
import type { AnswerOf, InputOf, Methods, Reads, Writes } from './commands.ts';
import type { Fleet, FleetCommands } from './fleet.ts';
import { partsOf } from './history/output-run.ts';
import { Kept } from './kept/kept.ts';
import { KeptEvents } from './kept/kept-events.ts';
import { KeptLists } from './kept/kept-lists.ts';
import { ShortResults } from './kept/short-results.ts';
import type { Added, GradedJobEnd } from './records/answers.ts';
import type { AdmitInput, FinishInput, StartInput } from './records/inputs.ts';
import type { JobKey } from './records/rows.ts';
import { nameOfJob } from './records/rows.ts';
import type { Store } from './store.ts';
import { StoreError } from './store-error.ts';
import { Channel } from './threads/channel.ts';
import type { ThreadData } from './threads/messages.ts';
import type { Threads } from './threads/threads.ts';

export interface ThreadedStoreOptions {
  readonly data: ThreadData;
  readonly threads: Threads;
  /** Where the store is, for error messages. This text contains no password. */
  readonly name: string;
  /** Called with problems that no caller sees, for example a failed checkpoint or a dead thread. */
  readonly onProblem: (error: StoreError) => void;
  /** Opens the part that knows about the other nodes. Absent if the store is for one process. */
  readonly openFleet?: (node: number) => Promise<OpenFleet>;
}

export interface OpenFleet extends Omit<Fleet, keyof FleetCommands>, AsyncDisposable {
  /** Called when the store has ended. */
  end(error: StoreError): void;
}

/** Changes that no caller waits for. They may wait a moment for other changes, to share a commit with them. */
const PATIENT: ReadonlySet<string> = new Set<keyof Writes>(['storeAttestation', 'postponeAttestation', 'endGradedJob']);

function isPatient(name: string, input: unknown): boolean {
  return PATIENT.has(name) || (name === 'finish' && (input as FinishInput).mayWait === true);
}

/**
 * Opens the store. When one of its threads ends, the other ends too, and every call is refused as `unavailable`.
 *
 * @throws StoreError, in one clear line, if the store cannot be opened for this service
 */
export async function openThreadedStore(options: ThreadedStoreOptions): Promise<Store> {
  const { data, threads, name, onProblem } = options;
  await using opening = new AsyncDisposableStack();
  const writer = opening.use(new Channel<Writes>({ thread: threads.writer(data), isPatient, onProblem }));
  const reader = opening.use(new Channel<Reads>({ thread: threads.reader(data), onProblem }));
  try {
    const [writes, reads] = [await writer.open(), await reader.open()];
    const opened = (await options.openFleet?.((await writes.node()) ?? 0)) ?? null;
    const fleet = opened === null ? null : Object.assign(opened, commandsOf(writes, reads));
    opening.move();
    // If the store was closed, the fleet was closed first, and this call has no effect.
    const ended = () => fleet?.end(new StoreError('unavailable', 'the store has ended'));
    void writer.ended.then(() => reader[Symbol.asyncDispose]()).then(ended);
    void reader.ended.then(() => writer[Symbol.asyncDispose]()).then(ended);
    return storeOver(writer, reader, { writes, reads, fleet });
  } catch (thrown) {
    if (!(thrown instanceof StoreError)) throw thrown;
    throw new StoreError(thrown.code, `${name}: ${thrown.message}`, { cause: thrown });
  }
}

/** The threads of the store, as methods. */
interface Sides {
  readonly writes: Methods<Writes>;
  readonly reads: Methods<Reads>;
  readonly fleet: (OpenFleet & FleetCommands) | null;
}

function commandsOf(writes: Sides['writes'], { registeredKeys }: Sides['reads']): FleetCommands {
  const { registerKey, releaseJobs, releaseOrphans, takenJobs } = writes;
  return { registerKey, registeredKeys, releaseJobs, releaseOrphans, takenJobs };
}

/** Passes each call to its thread unchanged, except for the calls defined here. */
function storeOver(writer: Channel<Writes>, reader: Channel<Reads>, sides: Sides): Store {
  const { writes, reads, fleet } = sides;
  const lists = new KeptLists();
  const change: Change = (name, input) => lists.change(tenantOf(input), () => writer.call(name, input));
  return {
    ...writes,
    ...reads,
    ...runsOver(change, sides),
    fleet,
    addPiece: (input) => writer.call('addPiece', input, ownBufferOf(input.content)),
    storeAttestation: (input) => change('storeAttestation', input),
    withdrawAttestation: (input) => change('withdrawAttestation', input),
    list: (input) => lists.read(input, () => reads.list(input)),
    ...(fleet !== null && sharedOver(sides)),
    // The reader ends first, so that the writer can empty the log.
    async [Symbol.asyncDispose]() {
      await fleet?.[Symbol.asyncDispose]();
      await reader[Symbol.asyncDispose]();
      await writer[Symbol.asyncDispose]();
    },
  };
}

/** The methods that differ in a store that nodes share. Data that other nodes change, such as lists, is not kept in memory. */
function sharedOver({ writes, reads }: Sides): Partial<Store> {
  return {
    runningJobs: () => writes.orphanedJobs(),
    queuedJobs: (input) => writes.takeQueuedJobs(input),
    list: (input) => reads.list(input),
  };
}

/** Calls the writer for a change to jobs. Such a change also changes lists. */
type Change = <Name extends keyof Writes>(name: Name, input: InputOf<Writes[Name]>) => Promise<AnswerOf<Writes[Name]>>;

type Runs = Pick<
  Store,
  | 'admit'
  | 'start'
  | 'append'
  | 'answerToolCall'
  | 'events'
  | 'finish'
  | 'requestCancel'
  | 'isUnderWay'
  | 'shortResult'
  | 'gradedEnd'
  | 'deleteEnded'
>;

/** How many characters of receipts are kept for callers who waited for the ends of their jobs. */
const endCharsMax = 2 ** 20;
/** How long a value is kept in a store that nodes share: less than the shortest retention. */
const sharedMilliseconds = 20_000;

/** What this thread knows about jobs that are in progress or ended recently. */
function runsOver(change: Change, sides: Sides): Runs {
  const { fleet, reads } = sides;
  // Another node may remove a job, but not until this long after the job ended.
  const keptMilliseconds = fleet === null ? Number.POSITIVE_INFINITY : sharedMilliseconds;
  const results = new ShortResults(undefined, keptMilliseconds);
  /** The ends of jobs that callers waited for. Each such caller asks for the end once. */
  const ends = new Kept<GradedJobEnd>({
    sizeMax: endCharsMax,
    sizeOf: ({ receipt_json }) => receipt_json?.length ?? 0,
  });
  const lately = new KeptEvents(keptMilliseconds);
  fleet?.listen({ heard: (topics, added) => keepHeard(topics, added, lately) });
  /** Jobs that this process accepted or started and whose ends are not stored yet, by the names of their keys. */
  const underWay = new Set<string>();
  return {
    async admit(input) {
      const result = await change('admit', input);
      // A queued job in a shared store may be run and ended by any node.
      const isOurs = fleet === null || input.start !== undefined;
      if (result.kind === 'created' && isOurs) for (const job of bothOf(input)) underWay.add(nameOfJob(job));
      return result;
    },
    async start(input) {
      const isStarted = await change('start', input);
      if (isStarted) for (const job of bothOf(input)) underWay.add(nameOfJob(job));
      return isStarted;
    },
    ...eventsOver(change, sides, lately),
    async finish(input) {
      const { isStored, result, end } = await change('finish', { ...input, events: partsOf(input.events) });
      underWay.delete(nameOfJob(input));
      lately.forget(input);
      if (end !== null) ends.keep(nameOfJob(input), end);
      if (result !== null) results.keep(input, result);
      return isStored;
    },
    async requestCancel(input) {
      const result = await change('requestCancel', input);
      if (result.kind !== 'cancelled') return result;
      underWay.delete(nameOfJob(input));
      if (result.peer !== undefined) underWay.delete(nameOfJob({ ...input, job_id: result.peer }));
      return result;
    },
    isUnderWay: (key) => underWay.has(nameOfJob(key)),
    shortResult: (key) => results.take(key),
    async gradedEnd(key) {
      const kept = ends.get(nameOfJob(key));
      ends.forget(nameOfJob(key));
      return kept ?? (await reads.gradedEnd(key));
    },
    async deleteEnded(input) {
      const removed = await change('deleteEnded', input);
      results.clear();
      ends.clear();
      lately.clear();
      return removed;
    },
  };
}

/** Keeps the events that a message from another node carries, for the followers here. */
function keepHeard(topics: readonly string[] | null, added: readonly Added[], lately: KeptEvents): void {
  const [job] = added;
  const events = added.flatMap((one) => one.events);
  if (job !== undefined) lately.keep(job, events);
  // If there are events that the message does not carry, the kept events are no longer the latest.
  else if (topics === null || topics.some((topic) => topic.startsWith('events '))) lately.clear();
}

/** Adds events to jobs, and passes them to the jobs' followers. */
function eventsOver(
  change: Change,
  { reads, writes, fleet }: Sides,
  lately: KeptEvents,
): Pick<Runs, 'append' | 'answerToolCall' | 'events'> {
  return {
    async append(key, events, isFollowed = false) {
      const tells = fleet?.toFollowers(`events ${key.job_id}`) ?? [];
      const { isStored, toFollow } = await change('append', { key, events: partsOf(events), isFollowed, tells });
      lately.keep(key, toFollow);
      return isStored;
    },
    async answerToolCall(input) {
      const tells = fleet?.toFollowers(`answers ${input.job_id}`, `events ${input.job_id}`) ?? [];
      const result = await writes.answerToolCall({ ...input, tells });
      if (result.kind === 'taken') lately.keep(input, result.toFollow);
      return result;
    },
    events: async (input) => lately.page(input) ?? (await reads.events(input)),
  };
}

/** The job, and the interactor's job if there is one. */
function bothOf({ tenant, job_id, interactor }: AdmitInput | StartInput): JobKey[] {
  return [{ tenant, job_id }, ...(interactor === undefined ? [] : [{ tenant, job_id: interactor.job_id }])];
}

/** The buffer of an upload's piece, to be moved instead of copied. A view of a larger buffer is copied. */
function ownBufferOf({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}

/** The tenant whose jobs a command changes; null if it may change any tenant's jobs. */
function tenantOf(input: unknown): string | null {
  const { tenant, key } = input as { readonly tenant?: unknown; readonly key?: Partial<JobKey> };
  if (typeof tenant === 'string') return tenant;
  return key?.tenant ?? null;
}
