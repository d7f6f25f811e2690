/** Everything between HTTP and the cells, on a real store in a new directory, with cells that a test controls. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type CancellationAnswer,
  type FoldedResult,
  type JobDetail,
  LIMIT_CEILINGS,
  type ReplayPage,
  SCOPES,
} from '@vouchbox/protocol';
import { JobMemory, type JobMemoryOptions } from '../src/capacity/job-memory.ts';
import { createRateBudget } from '../src/capacity/rate.ts';
import { cellsOf, ProviderHealth } from '../src/facts/provider-health.ts';
import type { Caller } from '../src/ground/caller.ts';
import { createBlobs } from '../src/job/blobs/blobs.ts';
import type { Body } from '../src/job/body.ts';
import { createJobs, type JobsOptions } from '../src/job/create-jobs.ts';
import { Dispatcher, type DispatcherOptions } from '../src/job/dispatch/dispatcher.ts';
import { createHistory, type History } from '../src/job/history.ts';
import type { Jobs } from '../src/job/jobs.ts';
import { createNudges, type Nudges } from '../src/job/nudges.ts';
import { createObjectContents } from '../src/job/object-contents.ts';
import { SchemaChecks } from '../src/job/tools/schema-checks.ts';
import type { ResultWait } from '../src/job/view/result.ts';
import { commitsIn } from '../src/store/commits.fixture.ts';
import type { JobKey, JobRow } from '../src/store/records/rows.ts';
import { openSqliteStore } from '../src/store/sqlite/open.ts';
import type { Store } from '../src/store/store.ts';
import { SAME_THREAD } from '../src/store/threads.fixture.ts';
import { createLog } from '../src/telemetry/log/log.ts';
import { ScriptedProvider } from './scripted-provider.ts';

type RigOptions = Partial<Omit<DispatcherOptions, 'store' | 'history' | 'nudges' | 'cells' | 'memory'>> &
  Partial<JobMemoryOptions> &
  Partial<Pick<JobsOptions, 'ceilings' | 'queue' | 'checkFreeSpace' | 'keys'>> & {
    /** Store methods that the test answers itself, in place of the real ones. */
    readonly faults?: (real: Store) => Partial<Store>;
  };

const silent = createLog('silent');

export function callerOf(tenant: string): Caller {
  return {
    tenant,
    principal: `tester:${tenant}`,
    auth_method: 'legacy',
    credential_id: 'legacy_1',
    scopes: [...SCOPES],
    expires_at: null,
  };
}

export const acme = callerOf('acme');
export const hello = { language: 'python', code: 'print("hello")' };

export class JobRig implements AsyncDisposable {
  readonly provider = new ScriptedProvider();
  readonly nudges: Nudges = createNudges();
  readonly shutdown = new AbortController();
  readonly store: Store;
  readonly history: History;
  readonly health: ProviderHealth;
  readonly dispatcher: Dispatcher;
  readonly jobs: Jobs;
  readonly schemas = new SchemaChecks();
  readonly #directory: string;
  readonly #looked = Promise.withResolvers<void>();

  private constructor(directory: string, store: Store, { faults = () => ({}), ...options }: RigOptions) {
    this.#directory = directory;
    this.store = withFaults(store, faults(store));
    this.history = createHistory(this.store, this.nudges);
    this.health = new ProviderHealth({
      provider: this.provider,
      log: silent,
      onReady: () => this.nudges.send('queue'),
    });
    const cells = cellsOf(this.health, {
      prepare: (request) => this.health.prepare(request),
      take: (kind) => this.provider.take(kind),
    });
    const checkFreeSpace = () => undefined;
    const blobs = createBlobs({
      store: this.store,
      blobsMax: 9,
      bytesMax: 2 ** 20,
      keepMilliseconds: 1000,
      checkFreeSpace,
      received: createRateBudget({ perSecond: 1, burst: 2 ** 30 }),
    });
    const { history, nudges, schemas } = this;
    const shared = { store: this.store, history, nudges, schemas, cells, blobs };
    this.dispatcher = new Dispatcher({
      log: silent,
      concurrency: 4,
      tenantConcurrency: null,
      roomForJobs: () => Number.POSITIVE_INFINITY,
      memory: new JobMemory({ concurrentMemMbMax: 4096, cellMemMb: 0, ...options }),
      drainSeconds: 0,
      testsMax: 4,
      ...options,
      ...shared,
      store: withFaults(this.store, { queuedJobs: (input) => this.#queuedJobs(input) }),
    });
    this.dispatcher.start();
    this.jobs = createJobs({
      ceilings: LIMIT_CEILINGS,
      queue: { total: 100, perTenant: 100 },
      blobBytesMax: 2 ** 20,
      isNumbered: true,
      promises: null,
      checkFreeSpace,
      keys: { publicKey: () => null },
      isSigning: false,
      others: () => [],
      objects: createObjectContents(null, silent),
      log: silent,
      ...options,
      ...shared,
      own: { provider: this.provider, health: cells, room: { concurrency: 4, concurrentMemMbMax: 2048 } },
      dispatcher: this.dispatcher,
      shutdown: this.shutdown.signal,
    });
  }

  static async open(options: RigOptions = {}): Promise<JobRig> {
    const directory = await mkdtemp(join(tmpdir(), 'svc-jobs-'));
    return new JobRig(directory, await openTestStore(directory), options);
  }

  /** Submits for a tenant and returns the key of the job. */
  async submit(body: object = hello, caller: Caller = acme): Promise<JobKey> {
    const { answer } = await this.jobs.submit(caller, { body, idempotencyKey: null });
    return { tenant: caller.tenant, job_id: answer.job_id };
  }

  /** Resolves once the dispatcher has looked at the queue, and knows what it found. */
  queueSeen(): Promise<void> {
    return this.#looked.promise;
  }

  /** Resolves once the store's reader has answered all earlier calls, and their callers have gone on. */
  async readsAnswered(): Promise<void> {
    await this.store.queuedJobs({ exclude: [], held: new Map(), limit: 0, tests: 0, slots: 1, tenantSlots: null });
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** How many transactions the store has committed since it was opened. */
  commits(): number {
    return commitsIn(join(this.#directory, 'svc.db'));
  }

  /** The row of a job once it is terminal. */
  async ended(key: JobKey): Promise<JobRow> {
    await this.history.ended(key, new AbortController().signal);
    return await this.row(key);
  }

  async row(key: JobKey): Promise<JobRow> {
    const row = await this.store.job(key);
    if (row === null) throw new Error('there is no such job');
    return row;
  }

  /** The detail of a job as its owner reads it. */
  async detail(job_id: string, caller: Caller = acme): Promise<JobDetail> {
    return JSON.parse(await this.jobs.detail(caller, job_id)) as JobDetail;
  }

  /** The folded result of a job as its owner reads it. */
  async result(job_id: string, wait: ResultWait, caller: Caller = acme): Promise<FoldedResult> {
    const { body } = await this.jobs.result(caller, job_id, wait);
    return (await textOf(body)) as FoldedResult;
  }

  /** A page of a job's history as its owner reads it. */
  async replay(job_id: string, page: { after: number; limit: number }): Promise<ReplayPage> {
    const { body } = await this.jobs.replay(acme, job_id, page);
    return (await textOf(body)) as ReplayPage;
  }

  /** Cancels a job; returns what its owner reads. */
  async cancel(job_id: string, caller: Caller = acme): Promise<CancellationAnswer> {
    return JSON.parse(await this.jobs.cancel(caller, job_id)) as CancellationAnswer;
  }

  /** Kind and data of every stored event of a job. */
  async past(key: JobKey): Promise<[kind: string, data: unknown][]> {
    const page = await this.store.events({ key, after: 0, limit: 1000 });
    if (page === null) throw new Error('there is no such job');
    return page.events.map(({ kind, data }) => [kind, data]);
  }

  /** Answers the dispatcher's query. The dispatcher handles the answer before the next turn of the event loop. */
  async #queuedJobs(input: Parameters<Store['queuedJobs']>[0]): ReturnType<Store['queuedJobs']> {
    const answer = await this.store.queuedJobs(input);
    setImmediate(() => this.#looked.resolve());
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispatcher[Symbol.asyncDispose]();
    await this.health[Symbol.asyncDispose]();
    await this.schemas[Symbol.asyncDispose]();
    await this.store[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true });
  }
}

/** The text of a body, after a check of its stated length. */
async function textOf(body: Body<unknown>): Promise<unknown> {
  const text = (await Array.fromAsync(body.pieces())).join('');
  if (Buffer.byteLength(text) !== body.bytes) throw new Error('a body is not as long as it says');
  return JSON.parse(text);
}

/** A real store on this thread, in a directory that the caller removes. */
export function openTestStore(directory: string): Promise<Store> {
  const path = join(directory, 'svc.db');
  return openSqliteStore({ path, check: 'off', onProblem: () => {}, threads: SAME_THREAD });
}

/** A store with some methods replaced by the test's own methods. */
export function withFaults(store: Store, faults: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const fault: unknown = Reflect.get(faults, name);
      if (fault !== undefined) return fault;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}
