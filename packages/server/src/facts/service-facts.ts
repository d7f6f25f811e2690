/**
 * What the service says about itself: what it can do, its state, whether it would accept a job now. Made from what was
 * observed at the start and from what the store says, never from secrets. Spec § Other bodies.
 */
import {
  blobBytesMax,
  type Capabilities,
  fileBytesMax,
  filesMax,
  filesTotalBytesMax,
  LIMIT_DEFAULTS,
  namedFilesTotalBytesMax,
  type Readiness,
  type ServiceStatus,
  satisfiesIsolation,
} from '@vouchbox/protocol';
import type { FreeSpaceReserve } from '../capacity/free-space.ts';
import { VERSION } from '../ground/version.ts';
import { within } from '../ground/waiting/within.ts';
import type { ServiceFacts } from '../http/app.ts';
import { type Executor, togetherOf } from '../job/admit/fit.ts';
import { clampLimits } from '../job/admit/policy.ts';
import type { ParkedCells, ParkingFacts } from '../sandbox/parked/parked-cells.ts';
import type { Provider } from '../sandbox/sandbox.ts';
import type { Config } from '../settings/config.ts';
import type { PublicKeys } from '../start/open-signing.ts';
import type { Store } from '../store/store.ts';
import type { ProviderHealth } from './provider-health.ts';
import { publicKeyBody, type Signing, signerCapability, signerStatus } from './signer-facts.ts';

/** What this version does beyond running jobs, for clients that use several versions. */
const FEATURES = [
  'idempotency_keys',
  'submission_wait',
  'result_wait',
  'replay_wait',
  'replay',
  'streams',
  'stream_tickets',
  'artifacts',
  'blobs',
  'event_chain',
  'tenant_metrics',
  'program_arguments',
  'program_variables',
  'output_patterns',
] as const;
const SIGNING_FEATURES = ['attestation', 'result_artifact'] as const;

/** How long one check of the store is reused, and how long it may take. */
const lookMilliseconds = 1000;
const probeMillisecondsMax = 2000;

export interface FactsOptions {
  readonly config: Config;
  readonly store: Pick<Store, 'counts' | 'probe'>;
  readonly provider: Pick<Provider, 'backend' | 'hasLoopback' | 'isolation_class' | 'languages' | 'runtime_packs'>;
  /** The other living nodes that run jobs. Absent if there are none. */
  readonly others?: () => readonly Executor[];
  /** Why stronger providers were passed over at the start; null if none was. */
  readonly passedOver: string | null;
  /** Whether cells can be made now. */
  readonly health: Pick<ProviderHealth, 'isReady'>;
  /** The parked cells. */
  readonly parked: Pick<ParkedCells, 'facts'>;
  /** Whether the disk has room for another job. */
  readonly reserve: Pick<FreeSpaceReserve, 'roomForJobs'>;
  /** Null if the operator has turned signing off. */
  readonly signing: Signing | null;
  readonly keys: Pick<PublicKeys, 'published'>;
  readonly stopping: AbortSignal;
}

/** The facts of one running service. */
export function createServiceFacts(options: FactsOptions): ServiceFacts {
  const { config, store, provider, passedOver, health, parked, reserve, signing, keys, stopping } = options;
  const { others = () => [] } = options;
  const startedAt = performance.now();
  const storeIsReady = remembered(() => answersInTime(store.probe()));
  const capabilities = capabilitiesOf(config, { provider, features: featuresOf(config, { provider, signing }) });
  return {
    capabilities: () => ({
      ...capabilities,
      // A pack that is built while the service runs brings languages with it, and other nodes come and go.
      ...offered(provider, others()),
      concurrent_mem_mb_max: Math.max(config.concurrentMemMbMax, ...others().map(({ memMbMax }) => memMbMax)),
      ...(signing !== null && { signer: signerCapability(signing) }),
    }),
    publicKey() {
      const key = keys.published();
      return key === null ? null : publicKeyBody(key);
    },
    async readiness(): Promise<Readiness> {
      const checks = {
        store: await storeIsReady(),
        provider: health.isReady(),
        free_space: hasRoom(reserve),
        accepting: !stopping.aborted,
      };
      return { status: Object.values(checks).every(Boolean) ? 'ready' : 'unready', checks };
    },
    async status(): Promise<ServiceStatus> {
      const { queued, running, oldest_queued_at, ...outbox } = await store.counts();
      const draining = stopping.aborted;
      return {
        status: draining ? 'draining' : (await storeIsReady()) ? 'ok' : 'unavailable',
        version: VERSION,
        uptime_seconds: Math.round(performance.now() - startedAt) / 1000,
        queue: { depth: queued, capacity: config.queue.total, oldest_age_ms: ageMilliseconds(oldest_queued_at) },
        running,
        draining,
        signer: signerStatus(signing, outbox),
        provider: {
          backend: provider.backend,
          isolation_class: provider.isolation_class,
          ready: health.isReady(),
          passed_over: passedOver,
        },
        parked: parkedStatus(parked.facts()),
      };
    },
  };
}

/** What jobs can ask for. Each gets the class of the node that runs it: the weakest is what every job gets at least. */
function offered(
  provider: FactsOptions['provider'],
  others: readonly Executor[],
): Pick<Capabilities, 'languages' | 'runtime_packs' | 'isolation_class'> {
  const { languages, runtime_packs } = togetherOf([provider, ...others]);
  const isolation_class = others
    .map((other) => other.isolation_class)
    .reduce((one, other) => (satisfiesIsolation(one, other) ? other : one), provider.isolation_class);
  return { languages: [...languages], runtime_packs: [...runtime_packs], isolation_class };
}

function parkedStatus({ cells, bytes, bytesMax }: ParkingFacts): ServiceStatus['parked'] {
  const sum = [...cells.values()].reduce((total, count) => total + count, 0);
  return { cells: sum, mem_mb: Math.ceil(bytes / 2 ** 20), mem_mb_max: bytesMax / 2 ** 20 };
}

/** What this service offers with its settings. */
function featuresOf({ jwt }: Config, { provider, signing }: Pick<FactsOptions, 'provider' | 'signing'>): string[] {
  return [
    ...FEATURES,
    ...(signing === null ? [] : SIGNING_FEATURES),
    ...(provider.hasLoopback ? ['loopback'] : []),
    ...(provider.runtime_packs.length === 0 ? [] : ['runtime_packs']),
    ...(jwt === null ? [] : ['access_tokens']),
  ];
}

function capabilitiesOf(
  { ceilings, concurrentMemMbMax, blobs }: Config,
  { provider, features }: { provider: FactsOptions['provider']; features: string[] },
): Capabilities {
  return {
    version: VERSION,
    languages: [...provider.languages],
    isolation_class: provider.isolation_class,
    limits: { defaults: clampLimits(LIMIT_DEFAULTS, ceilings), ceilings },
    artifacts: { max_files: filesMax, max_file_bytes: fileBytesMax, max_total_bytes: filesTotalBytesMax },
    blobs: {
      max_blob_bytes: blobBytesMax,
      max_job_bytes: namedFilesTotalBytesMax,
      max_blobs: blobs.perTenant,
      max_total_bytes: blobs.bytesPerTenant,
      keep_seconds: blobs.keepSeconds,
    },
    concurrent_mem_mb_max: concurrentMemMbMax,
    runtime_packs: [...provider.runtime_packs],
    features,
    signer: null,
  };
}

/** False also if it cannot be known: then no job is accepted. */
function hasRoom(reserve: FactsOptions['reserve']): boolean {
  try {
    return reserve.roomForJobs() > 0;
  } catch {
    return false;
  }
}

/** Never negative: the host's clock may have been set back since the job was queued. */
function ageMilliseconds(since: string | null): number | null {
  return since === null ? null : Math.max(0, Date.now() - Date.parse(since));
}

/** One check, shared by everybody who asks within its time. */
function remembered(look: () => Promise<boolean>): () => Promise<boolean> {
  let last: { readonly at: number; readonly answer: Promise<boolean> } | null = null;
  return () => {
    const now = performance.now();
    if (last === null || now - last.at > lookMilliseconds) last = { at: now, answer: look() };
    return last.answer;
  };
}

/** Whether a probe succeeds in time. The store reports itself why it does not. */
async function answersInTime(probe: Promise<void>): Promise<boolean> {
  const succeeds = probe.then(
    () => true,
    () => false,
  );
  return await within(succeeds, probeMillisecondsMax, false);
}
