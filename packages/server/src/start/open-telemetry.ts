/** Builds what operators see: metrics if a token for them is set, and traces if a collector is set. */
import { PERMIT_KINDS, type PermitBound, type PermitKind, type Permits } from '../capacity/permits.ts';
import { ServiceError } from '../ground/service-error.ts';
import { StartError } from '../ground/start-error.ts';
import { OPTIONAL_PACKAGES, VERSION } from '../ground/version.ts';
import type { Metrics } from '../http/answer/metrics.ts';
import type { ObjectContents } from '../job/object-contents.ts';
import type { ParkedCells } from '../sandbox/parked/parked-cells.ts';
import type { Provider } from '../sandbox/sandbox.ts';
import type { Config } from '../settings/config.ts';
import type { Store } from '../store/store.ts';
import { LastHour } from '../telemetry/last-hour.ts';
import type { Log } from '../telemetry/log/log.ts';
import { METRICS_MEDIA_TYPES, preferredFormat } from '../telemetry/metrics-format.ts';
import { bothOf, NO_OBSERVER, type Observer } from '../telemetry/observer.ts';
import type { MetricsSources, ParkingCounts, ServiceMetrics } from '../telemetry/service-metrics.ts';
import type { Traces, TracesOptions } from '../telemetry/traces.ts';

/** The opened telemetry. Disposing it sends the waiting spans and stops counting. */
export interface OpenTelemetry extends AsyncDisposable {
  /** The observer of jobs; `NO_OBSERVER` itself if the operator asked for neither metrics nor traces. */
  readonly observer: Observer;
  readonly metrics: Metrics;
  readonly lastHour: LastHour;
}

export interface TelemetryOptions {
  readonly config: Config;
  readonly store: Pick<Store, 'counts' | 'currentJobs' | 'logCounts' | 'objectCounts'>;
  readonly objects: Pick<ObjectContents, 'problems'>;
  /** Where figures about cells come from; null if this node runs no programs. */
  readonly cells: {
    readonly provider: Pick<Provider, 'backend' | 'isolation_class'>;
    readonly parked: Pick<ParkedCells, 'facts'>;
  } | null;
  readonly permits: Permits;
  /** Where figures about all nodes come from; null in a service that is alone. */
  readonly fleetFigures: MetricsSources['fleet'];
  readonly log: Log;
  readonly stopping: AbortSignal;
}

export async function openTelemetry(options: TelemetryOptions): Promise<OpenTelemetry> {
  const { config, log } = options;
  await using parts = new AsyncDisposableStack();
  const metrics = config.metricsToken === null ? null : parts.use(await openServiceMetrics(options));
  let observer: Observer = metrics ?? NO_OBSERVER;
  if (config.tracesUrl !== null) {
    const traces = parts.use(await openTraces({ url: config.tracesUrl, version: VERSION, log }));
    observer = metrics === null ? traces : bothOf(metrics, traces);
  }
  const lastHour = new LastHour();
  lastHour.watch(options.store, options.stopping);
  const owned = parts.move();
  return { observer, metrics: pagesOf(options, metrics), lastHour, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Opens the traces. Their optional libraries are loaded only here, so that a service without a collector needs none of them. */
async function openTraces(options: TracesOptions): Promise<Traces> {
  try {
    const { Traces } = await import('../telemetry/traces.ts');
    return new Traces(options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const wanted = Object.entries(OPTIONAL_PACKAGES).map(([name, range]) => `${name}@${range}`);
    throw new StartError('SERVICE_OTLP_ENDPOINT is set, and the OpenTelemetry packages are not installed', {
      hint: `install them beside Vouchbox with \`npm install ${wanted.join(' ')}\`, or leave the setting out`,
      cause: error,
    });
  }
}

/** Opens the metrics. Their library is large, so it is loaded only if metrics can be requested. */
async function openServiceMetrics(options: TelemetryOptions): Promise<ServiceMetrics> {
  const { ServiceMetrics } = await import('../telemetry/service-metrics.ts');
  return new ServiceMetrics(sourcesOf(options));
}

/** The metrics over HTTP: for a tenant about its own jobs, and for the operator, if a token is set, about everything. */
function pagesOf({ config, store }: TelemetryOptions, metrics: ServiceMetrics | null): Metrics {
  const queueCapacity = config.queue.perTenant;
  return {
    async ofTenant(tenant, accept) {
      const format = preferredFormat(accept);
      const { languages } = await store.currentJobs(tenant);
      const { renderTenantMetrics } = await import('../telemetry/tenant-metrics.ts');
      const text = await renderTenantMetrics({ languages, queueCapacity }, format);
      return { mediaType: METRICS_MEDIA_TYPES[format], text };
    },
    async ofService(accept) {
      if (metrics === null) throw new ServiceError('route_not_found', 'No such route.');
      const format = preferredFormat(accept);
      return { mediaType: METRICS_MEDIA_TYPES[format], text: await metrics.render(format) };
    },
  };
}

const NOTHING_PARKED: ParkingCounts = {
  bytes: 0,
  bytesMax: 0,
  cells: new Map(),
  taken: { parked: 0, awaited: 0, cold: 0 },
  lost: { died: 0, changed: 0, surplus: 0 },
};

/** The bounds for each kind of permit, from the settings. */
export function permitBoundsOf(config: Config): Record<PermitKind, PermitBound> {
  return { wait: config.waits, stream: config.streams, body: config.bodyReads, response: config.responses };
}

function sourcesOf({
  config,
  store,
  objects,
  cells,
  permits,
  fleetFigures,
  stopping,
}: TelemetryOptions): MetricsSources {
  const { objectStore } = config;
  const bounds = permitBoundsOf(config);
  return {
    version: VERSION,
    // Prometheus treats an empty label like a missing one.
    backend: cells?.provider.backend ?? '',
    isolation_class: cells?.provider.isolation_class ?? '',
    queueCapacity: config.queue.total,
    slots: cells === null ? 0 : config.concurrency,
    permits: PERMIT_KINDS.map((kind) => ({ kind, limit: bounds[kind].total, held: () => permits.held(kind) })),
    parking: () => cells?.parked.facts() ?? NOTHING_PARKED,
    fleet: fleetFigures,
    isDraining: () => stopping.aborted,
    counts: () => store.counts(),
    objectProblems: () => objects.problems,
    ...(config.logHost !== null && { logFigures: () => store.logCounts() }),
    ...(objectStore !== null && { objectCounts: () => store.objectCounts({ bytesMin: objectStore.bytesMin }) }),
  };
}
