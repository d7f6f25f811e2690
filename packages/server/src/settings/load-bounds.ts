/**
 * The bounds on load. A bound that is not set follows from the number of jobs that run at once. With the defaults, one
 * tenant can keep all slots busy with 10 ms jobs: each job is one request, and more jobs may be awaited and queued than run.
 */

/** How many of something may be held at once, by all tenants together and by one tenant. */
export interface Bound {
  readonly total: number;
  readonly perTenant: number;
}

export interface LoadBounds {
  readonly queue: Bound;
  readonly rate: { readonly perSecond: number; readonly burst: number };
  readonly waits: Bound;
  readonly streams: Bound;
}

const atLeast = (count: number, least: number): string => `${count} for each job that runs at once, at least ${least}`;

/** Each bound's default, in words. */
export const LOAD_DEFAULTS = {
  SERVICE_QUEUE_MAX: atLeast(128, 256),
  SERVICE_TENANT_QUEUE_MAX: atLeast(32, 64),
  SERVICE_RATE_PER_SECOND: '100 for each job that runs at once',
  SERVICE_RATE_BURST: 'three seconds of the rate',
  SERVICE_WAITS_MAX: atLeast(12, 80),
  SERVICE_TENANT_WAITS_MAX: atLeast(4, 24),
  SERVICE_STREAMS_MAX: atLeast(12, 80),
  SERVICE_TENANT_STREAMS_MAX: atLeast(4, 16),
} as const;

type Given = { readonly [Name in keyof typeof LOAD_DEFAULTS]?: number | undefined };

export function loadBoundsOf(given: Given, concurrency: number): LoadBounds {
  const perSecond = given.SERVICE_RATE_PER_SECOND ?? 100 * concurrency;
  return {
    queue: {
      total: given.SERVICE_QUEUE_MAX ?? Math.max(256, 128 * concurrency),
      perTenant: given.SERVICE_TENANT_QUEUE_MAX ?? Math.max(64, 32 * concurrency),
    },
    rate: { perSecond, burst: given.SERVICE_RATE_BURST ?? Math.ceil(3 * perSecond) },
    waits: {
      total: given.SERVICE_WAITS_MAX ?? Math.max(80, 12 * concurrency),
      perTenant: given.SERVICE_TENANT_WAITS_MAX ?? Math.max(24, 4 * concurrency),
    },
    streams: {
      total: given.SERVICE_STREAMS_MAX ?? Math.max(80, 12 * concurrency),
      perTenant: given.SERVICE_TENANT_STREAMS_MAX ?? Math.max(16, 4 * concurrency),
    },
  };
}
