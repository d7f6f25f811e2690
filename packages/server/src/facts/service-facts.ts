/**
 * What the service says about itself: what it can do, its state, and whether it accepts jobs now. The answers come from
 * observations at the start and from the store, never from secrets. Spec § Other bodies.
 */
import {
  blobBytesMax,
  type Capabilities,
  fileBytesMax,
  filesMax,
  filesTotalBytesMax,
  LIMIT_DEFAULTS,
  LIMIT_NAMES,
  librariesBytesMax,
  librariesEntriesMax,
  namedFilesTotalBytesMax,
  type Readiness,
  type ServiceStatus,
  satisfiesIsolation,
  TOOL_LIMIT_CEILINGS,
  TOOL_LIMIT_DEFAULTS,
  toolPrincipalsMax,
  toolSchemaBytesMax,
  toolSchemaDepthMax,
  toolsMax,
} from '@vouchbox/protocol';
import type { FreeSpaceReserve } from '../capacity/free-space.ts';
import { VERSION } from '../ground/version.ts';
import { within } from '../ground/waiting/within.ts';
import type { ServiceFacts } from '../http/app.ts';
import { togetherOf } from '../job/admit/fit.ts';
import { clampLimits, enforcedBy, type ProviderFacts } from '../job/admit/policy.ts';
import type { ObjectContents } from '../job/object-contents.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { ParkedCells, ParkingFacts } from '../sandbox/parked/parked-cells.ts';
import type { Provider } from '../sandbox/sandbox.ts';
import type { Config } from '../settings/config.ts';
import type { PublicKeys } from '../start/open-signing.ts';
import type { Store } from '../store/store.ts';
import type { LastHour } from '../telemetry/last-hour.ts';
import type { OtherExecutor } from './fleet-facts.ts';
import type { ProviderHealth } from './provider-health.ts';
import { logStatus, publicKeyBody, type Signing, signerCapability, signerStatus } from './signer-facts.ts';

/** What this version offers besides running jobs, for clients that work with several versions. */
const FEATURES = [
  'idempotency_keys',
  'submission_wait',
  'submission_include',
  'gradings',
  'result_wait',
  'replay_wait',
  'replay',
  'replay_include',
  'streams',
  'stream_tickets',
  'stream_include',
  'artifacts',
  'blobs',
  'outputs_as_inputs',
  'builds',
  'sessions',
  'libraries',
  'event_chain',
  'tenant_metrics',
  'program_arguments',
  'program_variables',
  'output_patterns',
  'tools',
] as const;
const SIGNING_FEATURES = ['attestation', 'result_artifact'] as const;

/** How long the answer of one check of the store is reused, and how long a check may take. */
const lookMilliseconds = 1000;
const probeMillisecondsMax = 2000;

interface CellFacts {
  readonly provider: Pick<
    Provider,
    'backend' | 'enforced' | 'hasLoopback' | 'isolation_class' | 'languages' | 'runtime_packs'
  >;
  /** Why stronger providers were passed over at the start; null if none was passed over. */
  readonly passedOver: string | null;
  /** Whether cells of every language can be made now. */
  readonly health: Pick<ProviderHealth, 'isWhole'>;
  /** The parked cells. */
  readonly parked: Pick<ParkedCells, 'facts'>;
}

export interface FactsOptions {
  readonly config: Config;
  readonly store: Pick<Store, 'counts' | 'logCounts' | 'objectCounts' | 'probe'>;
  /** Null if no object store is set. */
  readonly objectStore: Pick<ObjectStore, 'check'> | null;
  readonly objects: Pick<ObjectContents, 'problems'>;
  /** Null if this node runs no programs. */
  readonly cells: CellFacts | null;
  /** The other living nodes that run jobs. */
  readonly others: () => readonly OtherExecutor[];
  /** The part of the status that names the nodes. */
  readonly nodes: () => Pick<ServiceStatus, 'nodes'>;
  readonly canaries: () => NonNullable<ServiceStatus['canaries']>;
  readonly lastHour: Pick<LastHour, 'of'>;
  /** Whether the disk has room for another job. */
  readonly reserve: Pick<FreeSpaceReserve, 'roomForJobs'>;
  /** Null if the operator has turned signing off. */
  readonly signing: Signing | null;
  readonly keys: Pick<PublicKeys, 'published'>;
  readonly stopping: AbortSignal;
}

/** The facts of one running service. */
export function createServiceFacts(options: FactsOptions): ServiceFacts {
  const { config, store, cells, others, nodes, reserve, signing, keys, stopping } = options;
  const startedAt = performance.now();
  const objects = objectStatusOf(options);
  const storeIsReady = remembered(() => answersInTime(store.probe()));
  const capabilities = capabilitiesOf(config);
  return {
    capabilities: () => ({
      ...capabilities,
      // This may change: a pack that is built while the service runs may add a language, and other nodes come and go.
      ...offered([...(cells === null ? [] : [cells.provider]), ...others()]),
      concurrent_mem_mb_max: Math.max(
        cells === null ? 0 : config.concurrentMemMbMax,
        ...others().map(({ memMbMax }) => memMbMax),
      ),
      features: featuresOf(config, options),
      ...(signing !== null && { signer: signerCapability(signing) }),
    }),
    publicKey() {
      const key = keys.published();
      return key === null ? null : publicKeyBody(key);
    },
    async readiness(): Promise<Readiness> {
      const checks = {
        store: await storeIsReady(),
        provider: hasCells(options),
        free_space: hasRoom(reserve),
        accepting: !stopping.aborted,
      };
      return { status: Object.values(checks).every(Boolean) ? 'ready' : 'unready', checks };
    },
    async status(tenant): Promise<ServiceStatus> {
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
        log: logStatus(signing, config.logHost, config.logHost === null ? null : await store.logCounts()),
        ...nodes(),
        provider: providerStatus(options),
        parked: cells === null ? { cells: 0, mem_mb: 0, mem_mb_max: 0 } : parkedStatus(cells.parked.facts()),
        object_store: await objects(),
        canaries: options.canaries(),
        last_hour: options.lastHour.of(tenant),
      };
    },
  };
}

/** What jobs may demand. Each job gets the isolation class of its node, and so at least the weakest of these classes. */
function offered([first, ...more]: readonly ProviderFacts[]): Pick<
  Capabilities,
  'languages' | 'runtime_packs' | 'isolation_class' | 'enforced'
> {
  if (first === undefined) return { languages: [], runtime_packs: [], isolation_class: null, enforced: [] };
  const { languages, runtime_packs } = togetherOf([first, ...more]);
  const isolation_class = more
    .map((other) => other.isolation_class)
    .reduce((one, other) => (satisfiesIsolation(one, other) ? other : one), first.isolation_class);
  const enforced = LIMIT_NAMES.filter((name) => [first, ...more].every((facts) => enforcedBy(facts).includes(name)));
  return { languages: [...languages], runtime_packs: [...runtime_packs], isolation_class, enforced };
}

/**
 * Whether this node can do its tasks as far as they need cells. A node that accepts submissions but runs no programs
 * needs another node that runs them. A node that neither accepts submissions nor runs programs needs no cells.
 */
function hasCells({ config, cells, others }: FactsOptions): boolean {
  if (cells !== null) return cells.health.isWhole();
  return !config.roles.includes('api') || others().some(({ isReady }) => isReady);
}

/** The status of this node's cells. A node without cells states only whether other nodes' cells are ready. */
function providerStatus(options: FactsOptions): ServiceStatus['provider'] {
  const { cells } = options;
  return {
    backend: cells?.provider.backend ?? null,
    isolation_class: cells?.provider.isolation_class ?? null,
    ready: hasCells(options),
    passed_over: cells?.passedOver ?? null,
  };
}

/** The status of the object store; null if there is none. */
function objectStatusOf(options: FactsOptions): () => Promise<ServiceStatus['object_store']> {
  const { config, store, objectStore, objects } = options;
  const settings = config.objectStore;
  if (objectStore === null || settings === null) return async () => null;
  const isReachable = remembered(() => answersInTime(objectStore.check()));
  return async () => ({
    reachable: await isReachable(),
    ...(await store.objectCounts({ bytesMin: settings.bytesMin })),
    ...objects.problems,
  });
}

function parkedStatus({ cells, bytes, bytesMax }: ParkingFacts): ServiceStatus['parked'] {
  const sum = [...cells.values()].reduce((total, count) => total + count, 0);
  return { cells: sum, mem_mb: Math.ceil(bytes / 2 ** 20), mem_mb_max: bytesMax / 2 ** 20 };
}

/** The features that this service offers with its settings. */
function featuresOf({ jwt, links, logHost, promises }: Config, { cells, others, signing }: FactsOptions): string[] {
  const executors = [...(cells === null ? [] : [cells.provider]), ...others()];
  const haveLoopback = executors.length > 0 && executors.every(({ hasLoopback }) => hasLoopback);
  return [
    ...FEATURES,
    ...(signing === null ? [] : SIGNING_FEATURES),
    ...(logHost === null ? [] : ['transparency_log']),
    ...(promises === null ? [] : ['job_promises']),
    ...(links === 'on' ? ['links'] : []),
    ...(haveLoopback ? ['loopback'] : []),
    ...(executors.some(({ runtime_packs }) => runtime_packs.length > 0) ? ['runtime_packs'] : []),
    ...(jwt === null ? [] : ['access_tokens']),
  ];
}

/** The part of the capabilities that the settings decide. */
function capabilitiesOf({
  ceilings,
  blobs,
  waits,
  queue,
  rate,
}: Config): Pick<
  Capabilities,
  'version' | 'limits' | 'tools' | 'artifacts' | 'blobs' | 'libraries' | 'per_tenant' | 'signer'
> {
  return {
    version: VERSION,
    limits: { defaults: clampLimits(LIMIT_DEFAULTS, ceilings), ceilings },
    tools: {
      max_tools: toolsMax,
      max_schema_bytes: toolSchemaBytesMax,
      max_schema_depth: toolSchemaDepthMax,
      max_principals: toolPrincipalsMax,
      limits: { defaults: TOOL_LIMIT_DEFAULTS, ceilings: TOOL_LIMIT_CEILINGS },
    },
    artifacts: { max_files: filesMax, max_file_bytes: fileBytesMax, max_total_bytes: filesTotalBytesMax },
    blobs: {
      max_blob_bytes: blobBytesMax,
      max_job_bytes: namedFilesTotalBytesMax,
      max_blobs: blobs.perTenant,
      max_total_bytes: blobs.bytesPerTenant,
      keep_seconds: blobs.keepSeconds,
    },
    libraries: { max_packed_bytes: blobBytesMax, max_bytes: librariesBytesMax, max_entries: librariesEntriesMax },
    per_tenant: {
      waits_max: waits.perTenant,
      queue_max: queue.perTenant,
      requests_per_second: rate.perSecond,
      requests_burst: rate.burst,
    },
    signer: null,
  };
}

/** Whether there is room for a job. If the file system cannot be asked, the answer is false, and no job is accepted. */
function hasRoom(reserve: FactsOptions['reserve']): boolean {
  try {
    return reserve.roomForJobs() > 0;
  } catch {
    return false;
  }
}

/** The age of a job, never negative: the host's clock may have been set back since the job was queued. */
function ageMilliseconds(since: string | null): number | null {
  return since === null ? null : Math.max(0, Date.now() - Date.parse(since));
}

/** A check whose answer is shared by all requests of the next second. */
function remembered(look: () => Promise<boolean>): () => Promise<boolean> {
  let last: { readonly at: number; readonly answer: Promise<boolean> } | null = null;
  return () => {
    const now = performance.now();
    if (last === null || now - last.at > lookMilliseconds) last = { at: now, answer: look() };
    return last.answer;
  };
}

/** Whether a probe succeeds in time. If it does not, the store itself reports the reason. */
async function answersInTime(probe: Promise<void>): Promise<boolean> {
  const succeeds = probe.then(
    () => true,
    () => false,
  );
  return await within(succeeds, probeMillisecondsMax, false);
}
