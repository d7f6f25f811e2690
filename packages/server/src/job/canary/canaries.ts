/**
 * Sends a canary into a cell of each class and pack that jobs on this node use: at the first use, and then every four minutes, as
 * long as a job used that class and pack in the last ten minutes. A canary is an ordinary job, signed like any other. It tries
 * actions that its cell must refuse. The signed statement of a later job names the newest canary from cells like the job's cell.
 *
 * A canary shows that a cell of this configuration refused these actions some minutes ago. It shows nothing about any other cell.
 */
import { setTimeout as pause } from 'node:timers/promises';
import {
  CANARY_TENANT,
  canaryFindings,
  canaryNamedMilliseconds,
  type ExecutionPredicate,
  type NamedCanary,
  sha256Hex,
} from '@vouchbox/evidence';
import type { CanaryStatus, IsolationClass, RequestedLimits, RequestedSpec } from '@vouchbox/protocol';
import { StandingLoop } from '../../ground/waiting/standing-loop.ts';
import type { PreparedCell, Provider } from '../../sandbox/sandbox.ts';
import type { AdmitInput } from '../../store/records/inputs.ts';
import type { ExecutionRecord } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log/log.ts';
import { nextPlace } from '../admit/next-place.ts';
import type { Beside } from '../beside.ts';
import type { Cells } from '../execute/cells.ts';
import { canarySpec } from './canary-spec.ts';
import { predicateIn } from './signed-predicate.ts';

/** Runs a job beside the slots while no job waits. False if the job may not begin now, or could not begin. */
export type RunBeside = (input: AdmitInput, prepare: () => Promise<PreparedCell>) => Promise<boolean>;

export interface CanariesOptions {
  readonly store: Pick<Store, 'attestation'>;
  readonly provider: Pick<Provider, 'runtime_packs'>;
  /** Makes cells that no job waits for. */
  readonly cells: Pick<Cells, 'prepare'>;
  readonly ceilings: RequestedLimits;
  readonly isNumbered: boolean;
  readonly log: Log;
  readonly everyMilliseconds?: number;
  readonly usedMilliseconds?: number;
}

const everyDefault = 4 * 60 * 1000;
const usedDefault = 10 * 60 * 1000;
/** How long to wait before asking again if a canary may not begin because jobs wait. */
const againMilliseconds = 1000;
/** How often to look for a canary's signature, and how many times at most. After that, another canary is run. */
const lookMilliseconds = 200;
const looksMax = 300;
/** The most pairs of a class and a pack that are tried. Without a bound, packs that are replaced at run time would add up. */
const kindsMax = 64;

/** A class and a pack that jobs use. */
interface Kind {
  readonly isolation_class: IsolationClass;
  readonly digest: string;
  usedAt: number;
  /** When the next canary may begin. */
  dueAt: number;
  newest: (NamedCanary & CanaryStatus) | null;
}

export class Canaries implements Pick<Beside, 'used'>, AsyncDisposable {
  readonly #options: CanariesOptions;
  readonly #every: number;
  readonly #used: number;
  readonly #kinds = new Map<string, Kind>();
  #woken = Promise.withResolvers<void>();
  #loop: StandingLoop | null = null;

  constructor(options: CanariesOptions) {
    this.#options = options;
    this.#every = options.everyMilliseconds ?? everyDefault;
    this.#used = options.usedMilliseconds ?? usedDefault;
  }

  /** Begins to run canaries. Kinds that jobs have already used are tried at once. */
  start(run: RunBeside): void {
    this.#loop ??= new StandingLoop((signal) => this.#round(run, signal));
    this.#loop.start();
  }

  /** Notes that a job began in a cell of this kind. */
  used({ isolation_class, runtime_pack }: ExecutionRecord): void {
    if (isolation_class === null || isolation_class === 'none' || runtime_pack === null) return;
    const name = nameOf(isolation_class, runtime_pack.digest);
    const now = performance.now();
    const known = this.#kinds.get(name);
    if (known === undefined && this.#kinds.size >= kindsMax) return;
    const kind = known ?? { isolation_class, digest: runtime_pack.digest, usedAt: now, dueAt: now, newest: null };
    kind.usedAt = now;
    this.#kinds.set(name, kind);
    if (kind.dueAt <= now) this.#woken.resolve();
  }

  /** The newest canary for cells of this kind, if it was signed lately; else null. */
  newestOf({ isolation_class, runtime_pack }: ExecutionRecord): NamedCanary | null {
    const newest = this.#kinds.get(nameOf(isolation_class, runtime_pack?.digest))?.newest ?? null;
    if (newest === null || Date.now() - Date.parse(newest.finishedAt) > canaryNamedMilliseconds) return null;
    const { sha256, jobId, finishedAt } = newest;
    return { sha256, jobId, finishedAt };
  }

  facts(): CanaryStatus[] {
    return [...this.#kinds.values()].flatMap(({ newest }) => {
      if (newest === null) return [];
      const { isolation_class, runtime_pack, job_id, finished_at, problem } = newest;
      return [{ isolation_class, runtime_pack, job_id, finished_at, problem }];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop?.[Symbol.asyncDispose]();
  }

  async #round(run: RunBeside, signal: AbortSignal): Promise<void> {
    const next = this.#next();
    const wait = next === null ? Number.POSITIVE_INFINITY : next.dueAt - performance.now();
    if (next === null || wait > 0) return await this.#sleep(wait, signal);
    next.dueAt = performance.now() + this.#every;
    try {
      if (!(await this.#send(next, run, signal))) next.dueAt = performance.now() + againMilliseconds;
    } catch (error) {
      if (!signal.aborted)
        this.#options.log.warn({ err: error, isolation_class: next.isolation_class }, 'a canary failed');
    }
  }

  /** The kind whose canary is due first, among the kinds that jobs use. */
  #next(): Kind | null {
    const now = performance.now();
    const inUse = [...this.#kinds.values()].filter(({ usedAt }) => now - usedAt <= this.#used);
    return inUse.reduce<Kind | null>(
      (first, kind) => (first === null || kind.dueAt < first.dueAt ? kind : first),
      null,
    );
  }

  /** Sleeps for this time, or until a job uses a kind that is due. An idle service sleeps until a job begins. */
  async #sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    const woken = this.#woken.promise;
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    const aborted = new Promise<void>((resolve) => until.addEventListener('abort', () => resolve(), { once: true }));
    const passed = Number.isFinite(milliseconds)
      ? pause(milliseconds, undefined, { signal: until, ref: false }).catch(() => {})
      : aborted;
    await Promise.race([woken, passed, aborted]);
    over.abort();
    this.#woken = Promise.withResolvers();
  }

  /** Sends a canary; false if it may not begin now. */
  async #send(kind: Kind, run: RunBeside, signal: AbortSignal): Promise<boolean> {
    const { provider, cells, ceilings, isNumbered } = this.#options;
    const pack = provider.runtime_packs.find(({ digest }) => digest === kind.digest);
    const spec = pack && canarySpec(pack, { ceilings, minimum_isolation: kind.isolation_class });
    // No cell uses a pack that is gone, so there is nothing to try.
    if (pack === undefined || spec == null) return true;
    const input = admitInput(spec, isNumbered);
    const { language, runtime } = spec;
    // No job waits for the canary's cell, so the cell keeps its small share of the processors to the end.
    const aheadUntil = new AbortController().signal;
    const hasRun = await run(input, () => cells.prepare({ language, runtime, aheadUntil, signal }));
    if (!hasRun) return false;
    const envelope = await this.#envelopeOf(input.job_id, signal);
    if (envelope !== null) this.#note(kind, pack.name, envelope);
    return true;
  }

  async #envelopeOf(job_id: string, signal: AbortSignal): Promise<Uint8Array | null> {
    const { store, log } = this.#options;
    for (let looks = 0; looks < looksMax; looks++) {
      const stored = await store.attestation({ key: { tenant: CANARY_TENANT, job_id }, part: 'envelope' });
      if (stored !== null) return stored.envelope;
      await pause(lookMilliseconds, undefined, { signal, ref: false });
    }
    log.warn({ job_id }, 'a canary is not signed, so nothing names it');
    return null;
  }

  #note(kind: Kind, runtime_pack: string, envelope: Uint8Array): void {
    const { log } = this.#options;
    const { isolation_class } = kind;
    const predicate = predicateIn(envelope);
    // A canary that was ended by a stop or a full disk proves nothing, so it does not replace an earlier canary.
    if (predicate === null || !isWhole(predicate)) {
      log.warn({ isolation_class, runtime_pack, job_id: predicate?.jobId }, 'a canary did not come to its end');
      return;
    }
    const { jobId, finishedAt } = predicate;
    const { problem } = canaryFindings(predicate);
    const before = kind.newest?.problem ?? null;
    const facts = { isolation_class, runtime_pack, job_id: jobId, finished_at: finishedAt, problem };
    kind.newest = { ...facts, sha256: sha256Hex(envelope), jobId, finishedAt };
    if (problem !== null) log.error(facts, 'a canary found that its cell allows what it must refuse');
    else if (before !== null) log.info(facts, 'a canary found that its cell refuses everything again');
  }
}

/** Whether the canary's program ended by itself, or was ended because of an action that it tried. */
function isWhole({ receipt }: ExecutionPredicate): boolean {
  return receipt['terminal_reason'] === 'exited' || receipt['terminal_reason'] === 'memory_limit';
}

function nameOf(isolation_class: string | null, digest: string | undefined): string {
  return `${isolation_class} ${digest}`;
}

/** The input for the canary's job. The queue's bounds do not apply, because the job never enters the queue. */
function admitInput(requested_spec: RequestedSpec, isNumbered: boolean): AdmitInput {
  const queueMax = Number.MAX_SAFE_INTEGER;
  return {
    tenant: CANARY_TENANT,
    ...nextPlace(Date.now()),
    requested_spec,
    idempotency: null,
    queueMax,
    tenantQueueMax: queueMax,
    blobBytesMax: 0,
    isNumbered,
  };
}
