/**
 * Gives signed statements their positions in the log, and signs at most one head a second for all of them, on the node
 * whose turn it is. A head is signed once its tree is committed, then shown to witnesses, stored and served. After a
 * crash between these steps, the same tree gets a larger head. If two nodes try at once, the store lets only one succeed.
 */
import { type LogName, noteText, originOfLog } from '@vouchbox/evidence';
import { pause } from '../../ground/waiting/pause.ts';
import { StandingLoop } from '../../ground/waiting/standing-loop.ts';
import { Turns } from '../../ground/waiting/turns.ts';
import { within } from '../../ground/waiting/within.ts';
import type { LogState } from '../../store/records/log.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { Nudges } from '../nudges.ts';
import type { SigningProblem } from '../sign/attestor.ts';
import type { SigningKey } from '../sign/keys/key-files.ts';
import { openLogKey } from '../sign/keys/log-key.ts';
import { SigningKeyError } from '../sign/keys/signing-key-error.ts';
import { logOpening, signHead } from './heads.ts';
import { LogGuard } from './log-guard.ts';
import { LogStopped } from './log-stopped.ts';
import { type WitnessAddress, Witnesses, type WitnessStanding } from './witnesses.ts';

export interface LogKeeperOptions {
  readonly store: Pick<Store, 'logState' | 'openLog' | 'reopenLog' | 'sequenceLog' | 'storeLogHead' | 'logRanges'>;
  readonly dataDir: string;
  /** The host in the log's name. */
  readonly host: string;
  readonly keys: { readonly current: () => SigningKey };
  readonly witnesses?: readonly WitnessAddress[];
  readonly nudges: Nudges;
  readonly log: Log;
  /** Whether it is this node's turn to sign. Absent if there are no other nodes. */
  readonly isOurTurn?: () => boolean;
  /** Called when logging begins to fail, and when it works again. */
  readonly onProblemChange?: () => void;
  /** Resolves when the next head may be signed. By default, this is after a second, or when the signal aborts. */
  readonly rest?: (signal: AbortSignal) => Promise<unknown>;
}

/** The tree that was opened, and how much of the previous tree can no longer be proven. */
export interface ReopenedLog {
  readonly origin: string;
  readonly log_key: string;
  /** The last known head of the previous tree; null if none was signed. */
  readonly previous: string | null;
  /** The number of leaves that `previous` covers. */
  readonly lost: number;
}

/** The least time from one head to the next. */
const headMilliseconds = 1000;
const aSecond = (signal: AbortSignal) => pause(headMilliseconds, signal);
/** The longest time between two looks for statements, because another node may have signed some. */
const recheckMilliseconds = 5000;
/** The most statements that get their positions in one transaction. */
const sequencedMax = 2000;

export class LogKeeper implements AsyncDisposable {
  readonly #options: LogKeeperOptions;
  readonly #witnesses: Witnesses | null;
  readonly #guard: LogGuard;
  /** Does one piece of work after another. */
  readonly #turns = new Turns(1);
  readonly #loop = new StandingLoop((signal) => this.#round(signal));
  #problem: SigningProblem | null = null;

  constructor(options: LogKeeperOptions) {
    this.#options = options;
    const { store, dataDir, witnesses: addresses = [], log } = options;
    const onChange = ({ name, state, reason }: WitnessStanding) =>
      state === 'signs'
        ? log.info(`the witness ${name} signs the heads of the log`)
        : log.warn({ reason }, `the witness ${name} ${state === 'silent' ? 'does not answer' : 'disagrees'}`);
    this.#witnesses = addresses.length === 0 ? null : new Witnesses({ addresses, onChange });
    this.#guard = new LogGuard({ store, dataDir, witnesses: this.#witnesses });
  }

  start(): void {
    this.#loop.start();
  }

  /** Why nothing is logged; null if the last round succeeded, or if it is another node's turn. */
  get problem(): SigningProblem | null {
    return this.#problem;
  }

  /** The last answer of each witness. */
  get witnesses(): readonly WitnessStanding[] {
    return this.#witnesses?.standings ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { nudges, log, isOurTurn = () => true, rest = aSecond } = this.#options;
    using nudge = nudges.next('log', signal);
    try {
      if (isOurTurn()) await this.#turns.take(() => this.logWhatWaits());
      else this.#guard.lostTurn();
      this.#note(null);
    } catch (error) {
      const message = publicReasonOf(error);
      // Logging is tried again every few seconds.
      if (this.#problem?.message !== message) log.error({ err: error }, `nothing is logged: ${message}`);
      this.#note({ message, at: new Date().toISOString() });
    }
    // Waits until the pause between heads is over and there is a statement. After the pause, a statement is logged at once.
    await Promise.all([rest(signal), within(nudge.arrived, recheckMilliseconds, undefined)]);
  }

  #note(problem: SigningProblem | null): void {
    const isChange = (problem === null) !== (this.#problem === null);
    this.#problem = problem;
    if (isChange) this.#options.onProblemChange?.();
  }

  /** Gives every waiting statement its position, and signs a head that covers them all. */
  async logWhatWaits(): Promise<void> {
    const { store } = this.#options;
    let state = (await store.logState()) ?? (await this.#open());
    if (state.host !== this.#options.host)
      throw new LogStopped(`the log belongs to ${state.host}, and the setting says ${this.#options.host}`);
    await this.#guard.refuseOlder(state);
    for (;;) {
      const size = await store.sequenceLog({ tree: state.tree, size: state.size, most: sequencedMax });
      // Another node was first, and it signs the head.
      if (size === null) return;
      const isLast = size - state.size < sequencedMax;
      state = { ...state, size };
      if (isLast) break;
    }
    if (state.size > (state.head?.size ?? 0)) await this.#signHead(state);
  }

  /**
   * Opens the log's next tree. Its leaf 0 has the last known head of the present tree.
   * @throws LogStopped if this node cannot open it
   */
  reopen(): Promise<ReopenedLog> {
    const { isOurTurn = () => true } = this.#options;
    if (!isOurTurn()) throw new LogStopped('another node logs: ask that one');
    return this.#turns.take(() => this.#reopen());
  }

  async #reopen(): Promise<ReopenedLog> {
    const { store, dataDir, keys, nudges, log } = this.#options;
    const state = await store.logState();
    const key = openLogKey(dataDir, { mayMake: true });
    if (state === null || key === null) throw new LogStopped('no log was opened yet');
    const last = await this.#guard.lastHead(state);
    const previous = last === null ? null : noteText(last.note);
    const name: LogName = { host: state.host, tree: state.tree + 1 };
    const opening = logOpening(name, {
      signer: keys.current(),
      log: key,
      opened_at: new Date().toISOString(),
      previous,
    });
    if (!(await store.reopenLog({ from: state.tree, opening })))
      throw new LogStopped('another node opened the next tree');
    const reopened = { origin: originOfLog(name), log_key: opening.log_key, previous, lost: last?.size ?? 0 };
    log.warn(reopened, `the log goes on as ${reopened.origin}`);
    nudges.send('log');
    return reopened;
  }

  async #signHead(state: LogState): Promise<void> {
    const { store, dataDir } = this.#options;
    const key = openLogKey(dataDir, { mayMake: false });
    if (key === null) throw new LogStopped('the key of the log is gone: restore log-key.pem, or open another log');
    const { tree, size } = state;
    const [root] = await store.logRanges([{ start: 0, end: size }]);
    if (root === undefined) throw new Error('the store has no root');
    const head = await this.#guard.guarded(signHead(state, { size, root }, key), state);
    await store.storeLogHead({ tree, ...head });
  }

  async #open(): Promise<LogState> {
    const { store, dataDir, host, keys, log } = this.#options;
    const key = openLogKey(dataDir, { mayMake: true });
    if (key === null) throw new Error('the key of the log could not be made');
    const name: LogName = { host, tree: 1 };
    const opening = logOpening(name, { signer: keys.current(), log: key, opened_at: new Date().toISOString() });
    const state = await store.openLog(opening);
    if (state === null) throw new Error('the log could not be opened');
    log.info({ log_key: state.log_key }, `the log ${originOfLog(state)} is open`);
    return state;
  }
}

function publicReasonOf(error: unknown): string {
  if (error instanceof SigningKeyError) return error.publicReason;
  return error instanceof LogStopped ? error.message : 'the store could not be read or written';
}
