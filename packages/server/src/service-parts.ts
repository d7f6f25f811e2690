/** Opens the parts of the service that depend on other parts: its cells, its jobs and HTTP. `service.ts` joins them. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Access } from './access/authenticate.ts';
import { createLinks } from './access/links.ts';
import { createTickets } from './access/tickets.ts';
import type { FreeSpaceReserve } from './capacity/free-space.ts';
import { JobMemory } from './capacity/job-memory.ts';
import type { Permits } from './capacity/permits.ts';
import type { RateBudget } from './capacity/rate.ts';
import { cellsOf, ProviderHealth } from './facts/provider-health.ts';
import { createServiceFacts } from './facts/service-facts.ts';
import type { Signing } from './facts/signer-facts.ts';
import type { createApp } from './http/app.ts';
import type { OutputCopies, OutputKeeping } from './job/artifact-content.ts';
import { type Beside, besideReceipts } from './job/beside.ts';
import { type Blobs, createBlobs } from './job/blobs/blobs.ts';
import { Canaries } from './job/canary/canaries.ts';
import { createJobs } from './job/create-jobs.ts';
import { Dispatcher } from './job/dispatch/dispatcher.ts';
import { type Dispatching, queueOnly } from './job/dispatch/queue-only.ts';
import { recover } from './job/dispatch/recover.ts';
import { GradingStage } from './job/grade/grading-stage.ts';
import { createGradings, type Gradings } from './job/gradings.ts';
import { createHistory, type History } from './job/history.ts';
import type { Jobs } from './job/jobs.ts';
import { publicLog } from './job/log/read-log.ts';
import type { Nudges } from './job/nudges.ts';
import type { ObjectContents } from './job/object-contents.ts';
import { countedHistory, observedCells, observedHistory } from './job/observed.ts';
import { createSessions } from './job/sessions.ts';
import { SchemaChecks } from './job/tools/schema-checks.ts';
import type { Membership } from './membership.ts';
import type { ObjectStore } from './objects/object-store.ts';
import type { BuildDigests } from './sandbox/native/build-digests.ts';
import { ParkedCells } from './sandbox/parked/parked-cells.ts';
import type { Config } from './settings/config.ts';
import type { OpenSandbox } from './start/open-sandbox.ts';
import type { PublicKeys } from './start/open-signing.ts';
import type { OpenTelemetry } from './start/open-telemetry.ts';
import type { Store } from './store/store.ts';
import type { Log } from './telemetry/log/log.ts';
import { NO_OBSERVER } from './telemetry/observer.ts';

interface CellParts {
  readonly config: Config;
  readonly sandbox: Pick<OpenSandbox, 'provider' | 'passedOver'>;
  readonly nudges: Nudges;
  readonly log: Log;
}

/** How fast cells are parked in each class. Making a gVisor cell takes more than one core for longer than a short job runs. */
const PACES = {
  gvisor: { madeAtOnce: 1, madeWhileAwaited: availableParallelism(), quietMilliseconds: 100 },
  others: { madeAtOnce: 2, madeWhileAwaited: 0, quietMilliseconds: 0 },
};

/** The parts of a node that runs programs. Disposing it ends the parked cells, but not the provider. */
export interface OpenCells extends Pick<OpenSandbox, 'provider' | 'passedOver'>, AsyncDisposable {
  readonly health: ProviderHealth;
  readonly parked: ParkedCells;
}

/** Opens a node's cells. No cell is parked before the start. */
export function openCells({ config, sandbox, nudges, log }: CellParts): OpenCells {
  const { provider, passedOver } = sandbox;
  const health = new ProviderHealth({
    provider,
    log,
    onReady() {
      nudges.send('queue');
      parked.refill();
    },
  });
  const parked = new ParkedCells({
    source: health,
    provider,
    bytesMax: config.parkedMbMax * 2 ** 20,
    pace: provider.backend === 'gvisor' ? PACES.gvisor : PACES.others,
    onProblem: ({ error, ...parking }) => log.warn({ ...parking, err: error }, 'a parked cell has a problem'),
  });
  return {
    provider,
    passedOver,
    health,
    parked,
    async [Symbol.asyncDispose]() {
      await parked[Symbol.asyncDispose]();
      await health[Symbol.asyncDispose]();
    },
  };
}

interface JobParts {
  readonly config: Config;
  readonly store: Store;
  /** Null if this node runs no programs. */
  readonly cells: OpenCells | null;
  readonly reserve: FreeSpaceReserve;
  /** Null if no object store is set. */
  readonly objectStore: ObjectStore | null;
  readonly objects: ObjectContents;
  readonly membership: Membership;
  /** How this service signs; null if the operator has turned signing off. */
  readonly signing: Signing | null;
  readonly keys: PublicKeys;
  readonly telemetry: OpenTelemetry;
  /** The digests of the files that this node was built from; null until they are known. */
  readonly build: () => BuildDigests | null;
  readonly log: Log;
  readonly stopping: AbortSignal;
}

interface OpenJobs {
  readonly jobs: Jobs;
  readonly gradings: Gradings;
  /** Makes the jobs of gradings. This stage is not started yet. */
  readonly grading: GradingStage;
  readonly blobs: Blobs & OutputCopies;
  readonly schemas: SchemaChecks;
  readonly dispatcher: Dispatching;
  /** The canaries that this node sends; null if it sends none. */
  readonly canaries: Canaries | null;
  readonly startCanaries: () => void;
  readonly history: History;
}

/** Opens the jobs, and recovers jobs that an earlier process left. The dispatcher is not started yet. */
export async function openJobs(parts: JobParts): Promise<OpenJobs> {
  const { config, store, cells, reserve, membership, keys, log } = parts;
  const { nudges, others } = membership;
  const history = openHistory(parts);
  await recover({ store, history, log });
  const { ceilings, queue } = config;
  const checkFreeSpace = () => reserve.check();
  const blobs = createBlobs({
    store,
    blobsMax: config.blobs.perTenant,
    bytesMax: config.blobs.bytesPerTenant,
    keepMilliseconds: config.blobs.keepSeconds * 1000,
    received: uploadBudgetOf(config, membership),
    checkFreeSpace,
  });
  const canaries = openCanaries(parts);
  const beside = besideReceipts({ canaries, build: parts.build });
  const schemas = new SchemaChecks();
  const own = cells && openDispatcher(parts, cells, { history, blobs, beside, schemas });
  const dispatcher = own ?? queueOnly(history);
  const shared = {
    store,
    blobs,
    objects: parts.objects,
    history,
    nudges,
    log,
    keys,
    isSigning: parts.signing !== null,
    schemas,
    dispatcher,
    own: cells && { ...cells, room: config },
    ceilings,
    queue,
    blobBytesMax: config.blobs.bytesPerTenant,
    isNumbered: config.logCounter === 'on',
    promises: config.promises,
    others,
    checkFreeSpace,
    shutdown: parts.stopping,
  };
  const grading = new GradingStage({
    ...shared,
    ownNudges: membership.ownNudges,
    // This node runs no more tests at once, and a test that would only wait is better made later.
    slots: () => others().reduce((sum, { slots }) => sum + slots, cells === null ? 0 : testsMax(config)),
    isOurTurn: () => membership.isFirst('api'),
  });
  const startCanaries = () => own && canaries?.start((input, prepare) => own.runBeside(input, prepare));
  return {
    dispatcher,
    canaries,
    startCanaries,
    history,
    blobs,
    grading,
    schemas,
    jobs: createJobs(shared),
    gradings: createGradings(shared),
  };
}

/** Opens the history of jobs. Spans and measurements are taken only if somebody reads them. */
function openHistory({ store, membership, telemetry: { observer, lastHour }, log }: JobParts): History {
  const history = countedHistory(createHistory(store, membership.nudges, membership.ownNudges), lastHour);
  return observer === NO_OBSERVER ? history : observedHistory(history, { store, observer, log });
}

/** Opens canaries if they can show something. Unsigned canaries show nothing, and a class without isolation refuses nothing. */
function openCanaries({ config, store, cells, log }: JobParts): Canaries | null {
  if (cells === null || config.canaries === 'off' || config.attestationMode === 'off') return null;
  const { provider, health } = cells;
  if (provider.backend === 'subprocess') return null;
  const isNumbered = config.logCounter === 'on';
  return new Canaries({ store, provider, cells: health, ceilings: config.ceilings, isNumbered, log });
}

function openDispatcher(
  { config, store, reserve, membership, telemetry, log }: JobParts,
  { provider, health, parked }: OpenCells,
  work: {
    readonly history: History;
    readonly blobs: OutputKeeping;
    readonly beside: Beside;
    readonly schemas: SchemaChecks;
  },
): Dispatcher {
  const { concurrency, tenantConcurrency, concurrentMemMbMax, drainSeconds } = config;
  const memory = new JobMemory({ concurrentMemMbMax, cellMemMb: provider.ownMemMb });
  const { observer } = telemetry;
  const plainCells = cellsOf(health, parked);
  return new Dispatcher({
    store,
    ...work,
    log,
    cells: observer === NO_OBSERVER ? plainCells : observedCells(plainCells, observer),
    // Other nodes need not hear about a slot that is free again, or about a queue that another node reported.
    nudges: membership.ownNudges,
    concurrency,
    tenantConcurrency,
    memory,
    testsMax: testsMax(config),
    drainSeconds,
    roomForJobs: () => reserve.roomForJobs(),
    ...membership.abilities(provider, memory.mbMax),
  });
}

/** How many tests run here at once. More tests than processors would slow each other down. */
const testsMax = ({ concurrency }: Config) => Math.min(concurrency, availableParallelism());

/** The smallest budget of upload bytes. A smaller one would hold up even small uploads. */
const uploadBytesMin = 2 ** 30;
const uploadRefillSeconds = 256;

/** A tenant's budget of upload bytes: as many as all its blobs may have. An empty budget is full again in about four minutes. */
function uploadBudgetOf({ blobs }: Config, membership: Membership): RateBudget {
  const burst = Math.max(uploadBytesMin, blobs.bytesPerTenant);
  return membership.budget({ perSecond: burst / uploadRefillSeconds, burst }, 'uploaded');
}

export type HttpApp = ReturnType<typeof createApp>;

interface HttpParts extends JobParts, Pick<OpenJobs, 'jobs' | 'gradings' | 'blobs' | 'canaries'> {
  readonly access: Access;
  readonly permits: Permits;
  readonly isEmbedded: boolean;
}

export async function openHttp(parts: HttpParts): Promise<HttpApp> {
  const { createApp } = await import('./http/app.ts');
  const { config, store, membership, telemetry, access, canaries } = parts;
  return createApp({
    ...parts,
    ...telemetry,
    sessions: createSessions({ store }),
    tickets: createTickets({ rows: store, access }),
    links: createLinks({ rows: store, access }),
    allowsLinks: config.links === 'on',
    rate: membership.budget(config.rate, 'spent'),
    service: createServiceFacts({
      ...parts,
      ...membership,
      lastHour: telemetry.lastHour,
      canaries: () => membership.canaries(canaries?.facts() ?? []),
    }),
    publicLog: config.logHost === null ? null : publicLog({ store }),
    openapi: readFileSync(fileURLToPath(import.meta.resolve('@vouchbox/protocol/openapi.json'))),
    metricsToken: config.metricsToken,
    allowedOrigins: config.allowedOrigins,
    servesApi: config.roles.includes('api'),
    connectionsOfPeer: config.peerConnections,
  });
}
