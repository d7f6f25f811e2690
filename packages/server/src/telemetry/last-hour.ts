/**
 * What a node counts about the last hour, minute by minute: how jobs ended, how long they waited and ran, and how many jobs there
 * were at the same time. The counts are kept in memory, from the node's start on. They are bounded: only the 200 tenants with the
 * most recent jobs have counts, and each minute of a tenant keeps a random sample of 64 durations of each kind. A tenant learns
 * only about its own jobs and about the queue, which the status shows to everyone.
 */
import type { ServiceStatus, TerminalStatus } from '@vouchbox/protocol';
import { TERMINAL_STATUSES } from '@vouchbox/protocol/vocabulary';

export type HourOfTenant = NonNullable<ServiceStatus['last_hour']>;

const minutesMax = 60;
const minuteMilliseconds = 60_000;
const durationsMax = 64;
const tenantsMax = 200;

export class LastHour {
  readonly #minuteNow: () => number;
  readonly #began: number;
  readonly #tenants = new Map<string, Minutes<JobMinute>>();
  readonly #queue = new Minutes<QueueMinute>();

  constructor(now: () => number = Date.now) {
    this.#minuteNow = () => Math.floor(now() / minuteMilliseconds);
    this.#began = this.#minuteNow();
  }

  /** Counts the queue now, and then twice a minute until the service stops. If the store does not answer, skips the minute. */
  watch(store: { counts(): Promise<QueueMinute> }, stopping: AbortSignal): void {
    const look = () => void store.counts().then((counts) => this.#queue.set(this.#minuteNow(), counts), ignore);
    look();
    const timer = setInterval(look, minuteMilliseconds / 2).unref();
    stopping.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  started({ tenant, created_at, started_at }: { tenant: string; created_at: string; started_at: string }): void {
    this.#of(tenant).waits.add(Math.max(0, Date.parse(started_at) - Date.parse(created_at)));
  }

  ended({ tenant, status, duration_ms }: { tenant: string; status: TerminalStatus; duration_ms: number | null }): void {
    const minute = this.#of(tenant);
    minute.ended[status] += 1;
    if (duration_ms !== null) minute.runs.add(duration_ms);
  }

  /** What a tenant is told: a number for each minute, oldest first. */
  of(tenant: string): HourOfTenant {
    const now = this.#minuteNow();
    const first = Math.min(now, Math.max(this.#began, now - minutesMax + 1));
    const numbers = Array.from({ length: now - first + 1 }, (_, index) => first + index);
    const minutes = numbers.map((number) => this.#tenants.get(tenant)?.at(number));
    const queue = numbers.map((number) => this.#queue.at(number));
    return {
      from: new Date(first * minuteMilliseconds).toISOString(),
      queued: queue.map((counts) => counts?.queued ?? null),
      running: queue.map((counts) => counts?.running ?? null),
      ended: mapStatuses((status) => minutes.map((minute) => minute?.ended[status] ?? 0)),
      wait_ms: quantilesOf(minutes.map((minute) => minute?.waits)),
      run_ms: quantilesOf(minutes.map((minute) => minute?.runs)),
    };
  }

  #of(tenant: string): JobMinute {
    const minutes = this.#tenants.get(tenant) ?? new Minutes<JobMinute>();
    const now = this.#minuteNow();
    const known = minutes.at(now);
    if (known !== undefined) return known;
    // Keeps the tenants in the order of their last minutes.
    this.#tenants.delete(tenant);
    this.#tenants.set(tenant, minutes);
    const [longest] = this.#tenants.keys();
    if (longest !== undefined && this.#tenants.size > tenantsMax) this.#tenants.delete(longest);
    return minutes.set(now, { ended: mapStatuses(() => 0), waits: new Durations(), runs: new Durations() });
  }
}

interface QueueMinute {
  readonly queued: number;
  readonly running: number;
}

interface JobMinute {
  readonly ended: Record<TerminalStatus, number>;
  readonly waits: Durations;
  readonly runs: Durations;
}

/** The minutes of an hour, keyed by number. All other minutes are forgotten, even future minutes after the clock was set back. */
class Minutes<Minute> {
  readonly #minutes = new Map<number, Minute>();

  at(number: number): Minute | undefined {
    return this.#minutes.get(number);
  }

  set(number: number, minute: Minute): Minute {
    for (const known of this.#minutes.keys())
      if (known <= number - minutesMax || known > number) this.#minutes.delete(known);
    this.#minutes.set(number, minute);
    return minute;
  }
}

/** A sample of durations. Every added duration has the same chance to be kept. */
class Durations {
  #added = 0;
  readonly #kept: number[] = [];

  add(milliseconds: number): void {
    const place = this.#added < durationsMax ? this.#added : Math.floor(Math.random() * (this.#added + 1));
    this.#added += 1;
    if (place < durationsMax) this.#kept[place] = milliseconds;
  }

  /** The quantile by the nearest rank; null if there are no durations. */
  quantile(part: number): number | null {
    const sorted = this.#kept.toSorted((one, other) => one - other);
    return sorted[Math.ceil(part * sorted.length) - 1] ?? null;
  }
}

function quantilesOf(durations: readonly (Durations | undefined)[]): HourOfTenant['wait_ms'] {
  return {
    p50: durations.map((each) => each?.quantile(0.5) ?? null),
    p95: durations.map((each) => each?.quantile(0.95) ?? null),
  };
}

function mapStatuses<Value>(value: (status: TerminalStatus) => Value): Record<TerminalStatus, Value> {
  return Object.fromEntries(TERMINAL_STATUSES.map((status) => [status, value(status)])) as Record<
    TerminalStatus,
    Value
  >;
}

function ignore(): void {}
