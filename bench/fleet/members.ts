/**
 * Several nodes of one service in one process, for the benchmark of wide fleets. Each node has its own store, lease, beats,
 * budgets, wake-ups and dispatcher, as a service has. Only its cells are scripted; they end at once. The parent sends orders to
 * this process. The process ends when the parent does.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { JobMemory } from '../../packages/server/src/capacity/job-memory.ts';
import { createRateBudget } from '../../packages/server/src/capacity/rate.ts';
import { cellsOf, ProviderHealth } from '../../packages/server/src/facts/provider-health.ts';
import { createBlobs } from '../../packages/server/src/job/blobs/blobs.ts';
import { Dispatcher } from '../../packages/server/src/job/dispatch/dispatcher.ts';
import { createHistory, type History } from '../../packages/server/src/job/history.ts';
import { type Membership, membershipIn } from '../../packages/server/src/membership.ts';
import { Session } from '../../packages/server/src/store/postgres/connection.ts';
import { openPostgresStore } from '../../packages/server/src/store/postgres/open.ts';
import { admission, newKey } from '../../packages/server/src/store/store.fixture.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { StoreError } from '../../packages/server/src/store/store-error.ts';
import { POSTGRES_SAME_THREAD } from '../../packages/server/src/store/threads.fixture.ts';
import { createLog } from '../../packages/server/src/telemetry/log/log.ts';
import { type ScriptedCell, ScriptedProvider } from '../../packages/server/test/scripted-provider.ts';

/** `join` opens nodes. During `work`, a tenant asks each node once a second, and each node queues a job every `jobSeconds`. */
export type MemberOrder =
  | { readonly kind: 'join'; readonly url: string; readonly nodes: number; readonly of: number }
  | { readonly kind: 'figures' }
  | { readonly kind: 'work'; readonly seconds: number; readonly jobSeconds: number };

/** What the nodes in this process have counted since they were opened. */
export interface MemberFigures {
  /** Notifications that PostgreSQL sent to the nodes. */
  readonly messages: number;
  /** How often a node asked the store for queued jobs. */
  readonly looks: number;
  /** The smallest number of living nodes that any node knows of. */
  readonly known: number;
  /** For each job, the milliseconds from queueing it until the node that queued it knew of its end. */
  readonly ends: readonly number[];
  /** How many jobs ended without their node learning of it, because the database did not answer in time. */
  readonly failed: number;
}

const slots = 4;
const silent = createLog('silent');
const counted = { messages: 0, looks: 0, ends: [] as number[], failed: 0 };

interface Member {
  readonly membership: Membership;
  readonly store: Store;
  readonly history: History;
  readonly spend: (tenant: string) => void;
}

const members: Member[] = [];
/** The number of tenants in the whole fleet, which equals the number of nodes. */
let tenants = 1;

/** Counts the messages that the sessions of this process receive. */
const onMessage = Reflect.get(Session.prototype, 'onMessage') as Session['onMessage'];
Session.prototype.onMessage = function (listener) {
  onMessage.call(this, (payload) => {
    counted.messages += 1;
    listener(payload);
  });
};

class EndingProvider extends ScriptedProvider {
  override async prepare(kind: Parameters<ScriptedProvider['prepare']>[0]): Promise<ScriptedCell> {
    const cell = (await super.prepare(kind)) as ScriptedCell;
    this.cells.length = 0;
    void cell.released.promise.then(() => cell.end({ kind: 'exited', exit_code: 0 }));
    return cell;
  }
}

async function opened(url: string): Promise<Member> {
  const store = await openPostgresStore({ url, check: 'off', onProblem: () => {}, threads: POSTGRES_SAME_THREAD });
  const { queuedJobs } = store;
  const counting: Store = Object.assign(store, {
    queuedJobs(choice: Parameters<Store['queuedJobs']>[0]) {
      counted.looks += 1;
      return queuedJobs(choice);
    },
  });
  const membership = membershipIn(counting);
  const provider = new EndingProvider();
  const health = new ProviderHealth({ provider, log: silent, onReady: () => membership.ownNudges.send('queue') });
  const cells = cellsOf(health, { prepare: (kind) => health.prepare(kind), take: () => null });
  const received = createRateBudget({ perSecond: 1, burst: 2 ** 30 });
  const limits = { blobsMax: 9, bytesMax: 2 ** 20, keepMilliseconds: 1000 };
  const blobs = createBlobs({ store: counting, ...limits, received, checkFreeSpace: () => undefined });
  const memory = new JobMemory({ concurrentMemMbMax: 4096, cellMemMb: 0 });
  const history = createHistory(counting, membership.nudges);
  const dispatcher = new Dispatcher({
    store: counting,
    history,
    blobs,
    nudges: membership.ownNudges,
    cells,
    log: silent,
    concurrency: slots,
    tenantConcurrency: null,
    testsMax: slots,
    drainSeconds: 0,
    memory,
    roomForJobs: () => Number.POSITIVE_INFINITY,
    // No job in this load has tools.
    schemas: { misfit: async () => null },
    ...membership.abilities(provider, memory.mbMax),
  });
  const config = { concurrency: slots, concurrentMemMbMax: 4096, roles: ['api', 'executor'] as const };
  const parts = { config, cells: { provider, health }, signing: null, dispatcher };
  await membership.join(parts, { store: counting, history, dispatcher, log: silent });
  dispatcher.start();
  const budget = membership.budget({ perSecond: 100, burst: 300 }, 'spent');
  return { membership, store: counting, history, spend: (tenant) => budget.spend(tenant) };
}

/** One node's part of the work: any tenant may ask any node. */
async function work({ history, spend }: Member, { seconds, jobSeconds }: MemberOrder & { kind: 'work' }) {
  const until = performance.now() + seconds * 1000;
  await sleep(Math.random() * 1000);
  let nextJob = performance.now() + Math.random() * jobSeconds * 1000;
  const waits: Promise<void>[] = [];
  while (performance.now() < until) {
    const tenant = `tenant-${Math.floor(Math.random() * tenants)}`;
    spend(tenant);
    if (performance.now() >= nextJob) {
      nextJob += jobSeconds * 1000;
      waits.push(oneJob(history, tenant));
    }
    await sleep(1000);
  }
  await Promise.all(waits);
}

/** Queues a job as a node without a free slot does, and waits for its end. */
async function oneJob(history: History, tenant: string): Promise<void> {
  const key = newKey(tenant);
  const started = performance.now();
  const signal = AbortSignal.timeout(60_000);
  try {
    await history.admit(admission({ ...key, created_at: new Date().toISOString() }));
    await history.ended(key, signal);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    counted.failed += 1;
    return;
  }
  if (signal.aborted) counted.failed += 1;
  else counted.ends.push(performance.now() - started);
}

async function carriedOut(order: MemberOrder): Promise<MemberFigures> {
  if (order.kind === 'join') {
    tenants = order.of;
    for (let node = 0; node < order.nodes; node++) members.push(await opened(order.url));
  }
  if (order.kind === 'work') await Promise.all(members.map((member) => work(member, order)));
  const known = Math.min(...members.map(({ membership }) => membership.nodes().nodes?.length ?? 0));
  return { ...counted, known };
}

process.on('message', (order: MemberOrder) => {
  void carriedOut(order).then(
    (answer) => process.send?.({ answer }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
// The parent is gone. When the server ends, the sessions end too.
process.on('disconnect', () => process.exit());
