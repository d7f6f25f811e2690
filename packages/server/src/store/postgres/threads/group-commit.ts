/**
 * Changes that wait together share one transaction, and so one commit. The transaction first locks the rows of their tenants: see
 * `WritingSession.begin`. If one change fails, the transaction is undone, and each change gets a transaction of its own. No
 * caller is answered before the commit. If the server does not say whether a commit was done, the outcome is looked up when the
 * database is back. So callers get the true outcome, and no change is made twice.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { runCommand, WITHOUT_TENANT, WRITES } from '../../commands.ts';
import type { Message } from '../../records/answers.ts';
import { StoreError } from '../../store-error.ts';
import { type Answer, type Call, refuse } from '../../threads/messages.ts';
import type { Session } from '../connection.ts';
import { isCollision, isLoss, storeErrorOf } from '../error.ts';
import { sendMessages } from '../messages.ts';
import { takenOver, type WritingSession } from '../writing-session.ts';
import { Lanes } from './lanes.ts';

/** A group closes when it has this many changes or has taken this long. Each of its callers waits for the whole group. */
const groupCommandsMax = 256;
const groupMillisecondsMax = 20;
/** How many changes are made side by side. The statements of each stay in memory until the database has taken them. */
const sideBySideMax = 16;

/** How long callers wait for the outcome of their commit, and the pause between two look-ups of the outcome. */
const outcomeMillisecondsMax = 60_000;
const outcomePauseMilliseconds = 200;

/** How many times a change is made again after a conflict with another node. */
const collisionsMax = 3;

/** One transaction of a group, and how far it has come. */
interface Progress {
  readonly group: Call[];
  /** Changes that were already made once and undone, and have not been made again yet. */
  again: Call[];
  answers: Answer[];
  /** The number of the change; null until the transaction has one. */
  change: number | null;
  /** True from when the commit is sent until the server says whether it was done. */
  isOpen: boolean;
}

export class GroupCommit {
  readonly #writing: WritingSession;
  readonly #report: (answers: Answer[]) => void;

  /** `report` gets the answers to calls that are refused while a commit's outcome is still being looked up. */
  constructor(writing: WritingSession, report: (answers: Answer[]) => void) {
    this.#writing = writing;
    this.#report = report;
  }

  /** Takes as many changes from the front of `waiting` as one transaction should hold, and answers each of them. */
  async take(waiting: Call[]): Promise<Answer[]> {
    let group: Call[] = [];
    let collisions = 0;
    // A lost connection is replaced once, and the uncommitted changes are made again.
    for (let tries = 1; ; tries++) {
      const progress: Progress = { group, again: [], answers: [], change: null, isOpen: false };
      try {
        await this.#runTransaction(progress, tries === 1 ? waiting : []);
        return progress.answers;
      } catch (thrown) {
        const error = storeErrorOf(thrown);
        progress.group.push(...progress.again.splice(0));
        // This error ends the thread, and with it the store.
        if (error.code === 'locked') throw error;
        if (!progress.isOpen) {
          if (isCollision(thrown) && progress.group.length === 1 && collisions < collisionsMax) {
            collisions += 1;
            group = progress.group;
            if (await this.#isUndone()) continue;
          }
          if (!isLoss(error)) return await this.#eachAlone(progress, error);
        }
        await this.#writing.drop();
        const fate = await this.#isCommitted(progress, waiting).catch((unknown: unknown) => storeErrorOf(unknown));
        if (fate === true) return progress.answers;
        if (fate !== false && fate.code === 'locked') throw fate;
        if (fate !== false) return refuse(progress.group, fate);
        if (tries > 1 || progress.group.length === 0) {
          return refuse([...progress.group, ...(isLoss(error) ? waiting.splice(0) : [])], error);
        }
        group = progress.group;
      }
    }
  }

  /** Makes the changes that are already in the group, then waiting ones, and commits. */
  async #runTransaction(progress: Progress, waiting: Call[]): Promise<void> {
    const session = await this.#writing.current();
    const again = progress.group.splice(0);
    progress.again = again;
    const tenants = new Set([...again, ...waiting.slice(0, groupCommandsMax)].flatMap(tenantsOf));
    // An error from `begin` is not needed: if `begin` fails, a later query fails, too.
    const begun = this.#writing.begin(session, [...tenants]).catch(() => undefined);
    const closesAt = performance.now() + groupMillisecondsMax;
    // Calls that arrive meanwhile join the group if the rows of their tenants are already locked.
    const next = () => {
      if (again.length > 0) return again.shift();
      return waiting[0] && isLocked(waiting[0], tenants) && !isFull(progress.group, closesAt)
        ? waiting.shift()
        : undefined;
    };
    await makeChanges(session, progress, next);
    const change = await begun;
    if (change === null) throw takenOver();
    progress.change = change ?? null;
    progress.isOpen = true;
    const committed = session.tryCommit();
    // The messages are sent right behind the commit, so other nodes hear of it as soon as this thread does.
    process.nextTick(() => this.#tell(progress, session));
    const failure = await committed;
    progress.isOpen = false;
    if (failure !== null) throw failure;
  }

  /** Takes the messages out of the answers and sends them to the other nodes. The callers do not get them. */
  #tell({ answers, change }: Progress, session: Session): void {
    const told: Message[] = [];
    for (const answer of answers) {
      const { value } = answer as { value?: { tells?: readonly Message[] } | null };
      told.push(...(value?.tells ?? []));
      if (value?.tells !== undefined) value.tells = [];
    }
    if (told.length > 0) sendMessages(session, told, { node: this.#writing.node, change });
  }

  /** Rolls back the transaction that failed, and returns whether that succeeded. */
  async #isUndone(): Promise<boolean> {
    try {
      await (await this.#writing.current()).rollback();
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Makes each change of a failed group in a transaction of its own; so far, nothing of the group is stored. If no session is
   * left, all changes are refused. Any other error, even damage, may concern only a row that the other changes do not touch.
   */
  async #eachAlone({ group }: Progress, error: StoreError): Promise<Answer[]> {
    try {
      await (await this.#writing.current()).rollback();
    } catch (thrown) {
      return refuse(group, storeErrorOf(thrown));
    }
    if (group.length <= 1) return refuse(group, error);
    const answers: Answer[] = [];
    for (const call of group) answers.push(...(await this.take([call])));
    return answers;
  }

  /**
   * Whether a transaction was committed although its session is lost. While the database cannot tell, other changes are refused.
   *
   * @throws StoreError `io` if the database does not answer in time
   */
  async #isCommitted({ isOpen, change }: Progress, waiting: Call[]): Promise<boolean> {
    if (!isOpen || change === null) return false;
    const givesUpAt = performance.now() + outcomeMillisecondsMax;
    for (;;) {
      const outcome = await this.#writing.outcomeOf(change).catch((thrown: unknown) => storeErrorOf(thrown));
      if (outcome === 'committed' || outcome === 'aborted') return outcome === 'committed';
      if (outcome instanceof StoreError && outcome.code === 'locked') throw outcome;
      if (performance.now() >= givesUpAt) throw new StoreError('io', 'it is unknown whether the last change is stored');
      if (outcome instanceof StoreError) {
        // A standby, or a server that lets nobody in, cannot answer. A new session may get an answer.
        await this.#writing.drop();
        this.#report(refuse(waiting.splice(0), new StoreError('unreachable', outcome.message)));
      }
      await pause(outcomePauseMilliseconds);
    }
  }
}

/** Makes changes, side by side where lanes allow it, until none is left. All have ended when the promise resolves or rejects. */
async function makeChanges({ db }: Session, progress: Progress, next: () => Call | undefined): Promise<void> {
  const lanes = new Lanes();
  const running = new Set<Promise<void>>();
  const begin = (call: Call) => {
    progress.group.push(call);
    const made = lanes
      .run(call, () => runCommand(WRITES, call, db))
      .then((value) => {
        progress.answers.push({ id: call.id, value });
        running.delete(made);
      });
    running.add(made);
  };
  try {
    for (;;) {
      while (running.size < sideBySideMax) {
        const call = next();
        if (call === undefined) break;
        begin(call);
      }
      if (running.size === 0) return;
      await Promise.race(running);
    }
  } catch (error) {
    await Promise.allSettled(running);
    throw error;
  }
}

function isFull(group: readonly Call[], closesAt: number): boolean {
  return group.length >= groupCommandsMax || performance.now() >= closesAt;
}

/**
 * The tenant whose jobs a call changes, as an array of at most one. Calls from the signer need no tenant: they change rows of one
 * ended job, found by key, and change no counts. So the node that signs for all does not wait for all tenants.
 */
function tenantsOf({ name, input }: Call): string[] {
  if (WITHOUT_TENANT.has(name)) return [];
  const { tenant, key, caller } = (input ?? {}) as Partial<Record<'tenant' | 'key' | 'caller', unknown>>;
  const found = tenant ?? ((key ?? caller) as { readonly tenant?: unknown } | undefined)?.tenant;
  return typeof found === 'string' ? [found] : [];
}

function isLocked(call: Call, tenants: ReadonlySet<string>): boolean {
  return tenantsOf(call).every((tenant) => tenants.has(tenant));
}
