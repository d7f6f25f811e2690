/**
 * Signs the promises of accepted jobs. If a job still waits when its promise is due, signs a statement that says so.
 * Only the node whose turn it is signs. The values to sign come from the store, so they survive a crash, and two nodes
 * that sign make the same bytes. A promise never ends a job. docs/decisions/0066.
 */
import { originOfLog, pendingStatement, promiseStatement, sha256Hex, type Unsigned } from '@vouchbox/evidence';
import { pause } from '../../ground/waiting/pause.ts';
import { StandingLoop } from '../../ground/waiting/standing-loop.ts';
import { within } from '../../ground/waiting/within.ts';
import type { LogState } from '../../store/records/log.ts';
import type { UnsignedPending, UnsignedPromise } from '../../store/records/promises.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { Nudges } from '../nudges.ts';
import { promiseTimes } from '../promise-times.ts';
import type { SigningKey } from './keys/key-files.ts';
import type { Signer } from './signer.ts';

export interface PromiseKeeperOptions {
  readonly store: Pick<
    Store,
    | 'logState'
    | 'unsignedPromises'
    | 'storePromises'
    | 'nextPromiseDue'
    | 'drawPending'
    | 'unsignedPending'
    | 'storePending'
  >;
  readonly keys: { readonly current: () => SigningKey };
  readonly signer: Pick<Signer, 'sign'>;
  /** Within how many seconds the log must answer. */
  readonly seconds: number;
  readonly nudges: Nudges;
  readonly log: Log;
  /** Whether it is this node that signs. Absent if there are no other nodes. */
  readonly isOurTurn?: () => boolean;
}

/** How long promises wait to be signed together with others. */
const gatherMilliseconds = 50;
/** The longest time between two looks, because another node may have left something to sign. */
const recheckMilliseconds = 5000;
/** How many statements are signed and stored together. */
const batchMax = 256;

export class PromiseKeeper implements AsyncDisposable {
  readonly #options: PromiseKeeperOptions;
  readonly #loop = new StandingLoop((signal) => this.#round(signal));

  constructor(options: PromiseKeeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { nudges, log, isOurTurn = () => true } = this.#options;
    using nudge = nudges.next('promises', signal);
    let rest = recheckMilliseconds;
    try {
      if (isOurTurn()) rest = Math.min(rest, await this.keep(Date.now()));
    } catch (error) {
      log.error({ err: error }, 'promises are not kept');
    }
    await within(nudge.arrived, rest, undefined);
    await pause(gatherMilliseconds, signal);
  }

  /** Signs everything that is due at this time. Returns in how many milliseconds the next promise is due. */
  async keep(now: number): Promise<number> {
    const { store } = this.#options;
    const log = await store.logState();
    // Another loop opens the log: the loop that gives statements their positions in the log.
    if (log === null) return recheckMilliseconds;
    while ((await this.#signPromises(log)) === batchMax);
    while ((await store.drawPending({ now: timeOf(now), ...this.#times(now), limit: batchMax })) === batchMax);
    while ((await this.#signPending(log)) === batchMax);
    const due = await store.nextPromiseDue();
    return due === null ? recheckMilliseconds : Math.max(0, Date.parse(due) - now);
  }

  #times(now: number) {
    return promiseTimes(now, this.#options.seconds);
  }

  async #signPromises(log: LogState): Promise<number> {
    const { store, nudges } = this.#options;
    const due = await store.unsignedPromises({ limit: batchMax });
    const signed = await this.#sign(
      due.map((promise) => promiseOf(promise, log)),
      false,
    );
    await store.storePromises({
      promises: due.map(({ tenant, job_id }, at) => ({ tenant, job_id, ...signedAt(signed, at) })),
    });
    for (const { job_id } of due) nudges.send(`promise ${job_id}`);
    return due.length;
  }

  async #signPending(log: LogState): Promise<number> {
    const { store, nudges } = this.#options;
    const due = await store.unsignedPending({ limit: batchMax });
    const signed = await this.#sign(
      due.map((pending) => pendingStatementOf(pending, log)),
      true,
    );
    const statements = due.map(({ tenant, job_id, statement }, at) => {
      const { leaf_hash, ...rest } = signedAt(signed, at);
      if (leaf_hash === null) throw new Error('what is to be logged has a leaf');
      return { tenant, job_id, statement, leaf_hash, ...rest };
    });
    await store.storePending({ statements });
    if (due.length > 0) nudges.send('log');
    return due.length;
  }

  async #sign(statements: readonly Unsigned[], isLogged: boolean) {
    const key = this.#options.keys.current();
    if (statements.length === 0) return [];
    const signed = await this.#options.signer.sign(statements, key, { isLogged });
    return signed.map((one) => ({ ...one, key_id: key.key_id }));
  }
}

function signedAt<One>(signed: readonly One[], at: number): One {
  const one = signed[at];
  if (one === undefined) throw new Error('each statement is signed');
  return one;
}

function promiseOf(promise: UnsignedPromise, log: LogState): Unsigned {
  const { large_outputs: _, ...submission } = JSON.parse(promise.evidence) as Record<string, unknown>;
  return promiseStatement({
    ...promisedJob(promise, log),
    acceptedAt: promise.created_at,
    // The outcome of large outputs is known only at the end.
    submission,
  });
}

function pendingStatementOf(pending: UnsignedPending, log: LogState): Unsigned {
  return pendingStatement({
    ...promisedJob(pending, log),
    statedAt: pending.stated_at,
    promiseSha256: sha256Hex(pending.promise),
    salt: pending.salt,
  });
}

function promisedJob(
  {
    tenant,
    job_id,
    tenant_number,
    answer_by,
  }: Pick<UnsignedPromise, 'tenant' | 'job_id' | 'tenant_number' | 'answer_by'>,
  log: LogState,
) {
  return {
    tenant,
    jobId: job_id,
    ...(tenant_number !== null && { tenantJobNumber: tenant_number }),
    answerBy: answer_by,
    logOrigin: originOfLog(log),
    logKey: log.log_key,
  };
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
