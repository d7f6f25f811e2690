/**
 * The request budget of each tenant: a token bucket that fills at a steady rate up to its burst. One request takes one
 * token. In a budget of bytes, each byte takes one token when it arrives. There are no time windows, so a tenant cannot
 * get twice the rate at the edge of a window.
 */

export interface RateBound {
  readonly perSecond: number;
  /** How many tokens a full bucket holds; at least 1. */
  readonly burst: number;
}

/** The effect of one request on its tenant's bucket. */
export interface RateDecision {
  readonly allowed: boolean;
  /** The burst. */
  readonly limit: number;
  /** Whole tokens left. */
  readonly remaining: number;
  /** Whole seconds until the bucket is full again. */
  readonly resetSeconds: number;
  /** Whole seconds until a request would be allowed; 0 if this one was. */
  readonly retryAfterSeconds: number;
}

export interface RateBudget {
  /** Takes one of the tenant's tokens if there is one. A refused request takes none. */
  spend(tenant: string): RateDecision;
  /** Takes tokens for something already done. The bucket may fall below zero: the tenant must then wait longer. */
  charge(tenant: string, tokens: number): void;
}

/** A budget whose buckets another module may read and lower. */
export interface RateBuckets extends RateBudget {
  /** How many tokens a full bucket has. */
  readonly burst: number;
  /** Tokens that the tenant has left; below 0 if it spent more. */
  left(tenant: string): number;
  /** Lowers a bucket, so that the tenant has at most this many tokens left. */
  lower(tenant: string, left: number): void;
}

interface Bucket {
  tokens: number;
  /** The time, in milliseconds of the monotonic clock, at which the number in `tokens` was right. */
  at: number;
}

/** Once there are this many buckets, full ones are dropped: a tenant without a bucket has a full budget. */
const bucketsSwept = 1024;

/** The buckets of one process. At first all are full. `now` is a monotonic clock in milliseconds. */
export function createRateBudget(bound: RateBound, now: () => number = () => performance.now()): RateBuckets {
  const buckets = new Map<string, Bucket>();
  let sweepAt = bucketsSwept;
  const lower = (tenant: string, left: number) => {
    const bucket = refilled(buckets.get(tenant), bound, now());
    // A debt of more than one burst is forgotten, so that a wrong count does no lasting harm.
    bucket.tokens = Math.max(Math.min(bucket.tokens, left), -bound.burst);
    buckets.set(tenant, bucket);
  };
  return {
    spend(tenant) {
      const at = now();
      const bucket = refilled(buckets.get(tenant), bound, at);
      const allowed = bucket.tokens >= 1;
      if (allowed) bucket.tokens -= 1;
      buckets.set(tenant, bucket);
      if (buckets.size >= sweepAt) sweepAt = sweep(buckets, bound, at);
      return decision(bucket, bound, allowed);
    },
    charge(tenant, tokens) {
      lower(tenant, refilled(buckets.get(tenant), bound, now()).tokens - tokens);
    },
    burst: bound.burst,
    left: (tenant) => refilled(buckets.get(tenant), bound, now()).tokens,
    lower,
  };
}

function refilled(bucket: Bucket | undefined, bound: RateBound, at: number): Bucket {
  if (bucket === undefined) return { tokens: bound.burst, at };
  bucket.tokens = Math.min(bound.burst, bucket.tokens + ((at - bucket.at) / 1000) * bound.perSecond);
  bucket.at = at;
  return bucket;
}

function decision(bucket: Bucket, bound: RateBound, allowed: boolean): RateDecision {
  return {
    allowed,
    limit: bound.burst,
    remaining: Math.max(0, Math.floor(bucket.tokens)),
    resetSeconds: Math.ceil((bound.burst - bucket.tokens) / bound.perSecond),
    retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - bucket.tokens) / bound.perSecond)),
  };
}

/** Drops every bucket that is full by now; returns the number of buckets at which to sweep again. */
function sweep(buckets: Map<string, Bucket>, bound: RateBound, at: number): number {
  for (const [tenant, bucket] of buckets) {
    if (refilled(bucket, bound, at).tokens >= bound.burst) buckets.delete(tenant);
  }
  return Math.max(bucketsSwept, buckets.size * 2);
}
