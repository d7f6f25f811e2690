/**
 * Commands that wait together share one transaction, and so one sync of the disk. Commands seldom fail. If one fails, the
 * transaction is undone, and each command gets a transaction of its own. Savepoints are not used: with one for each command,
 * SQLite would copy every page before changing it. No caller is answered before the commit.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { StoreError } from '../../store-error.ts';
import { type Answer, type Call, refuse } from '../../threads/messages.ts';
import { storeErrorOf } from '../error.ts';

/** Runs one command inside the transaction that is open. */
export type RunCommand = (call: Call) => Promise<unknown>;

/** A group closes when it has this many commands or has taken this long. Each of its callers waits for the whole group. */
export const groupCommandsMax = 2048;
const groupMillisecondsMax = 20;

export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #runCommand: RunCommand;
  readonly #isLagging: (call: Call) => boolean;
  #hasLagged = false;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;

  /** @param isLagging whether the command need not be on disk when it is answered */
  constructor(database: DatabaseSync, runCommand: RunCommand, isLagging: (call: Call) => boolean = () => false) {
    this.#database = database;
    this.#runCommand = runCommand;
    this.#isLagging = isLagging;
    this.#begin = database.prepare('begin immediate');
    this.#commit = database.prepare('commit');
  }

  /** Whether the last `take` took only commands that may be answered before they are on disk. */
  get hasLagged(): boolean {
    return this.#hasLagged;
  }

  /**
   * Takes as many commands from the front of `waiting` as one transaction should hold, and answers each of them. An answered
   * change is on disk, unless all waiting commands may lag. A refused command changed nothing.
   */
  async take(waiting: Call[]): Promise<Answer[]> {
    this.#hasLagged = waiting.every(this.#isLagging);
    if (!this.#hasLagged) return await this.#takeOnce(waiting, groupCommandsMax);
    // In the mode `normal`, too, the log stays whole: SQLite syncs it before pages are moved, and when the log starts again.
    this.#database.exec('pragma synchronous = normal');
    try {
      return await this.#takeOnce(waiting, waiting.length);
    } finally {
      this.#database.exec('pragma synchronous = full');
    }
  }

  async #takeOnce(waiting: Call[], commandsMax: number): Promise<Answer[]> {
    const group: Call[] = [];
    try {
      this.#begin.run();
    } catch (thrown) {
      return refuse(waiting.splice(0, groupCommandsMax), storeErrorOf(thrown));
    }
    let isOfOneCommand = true;
    try {
      const answers = await this.#runGroup(waiting, group, commandsMax);
      isOfOneCommand = false;
      this.#commit.run();
      return answers;
    } catch (thrown) {
      // SQLite ends the transaction by itself when space or memory runs out.
      return this.#withoutGroup(group, storeErrorOf(thrown), isOfOneCommand && this.#database.isTransaction);
    }
  }

  /** Moves each command that it runs from `waiting` to `group`. */
  async #runGroup(waiting: Call[], group: Call[], commandsMax: number): Promise<Answer[]> {
    const answers: Answer[] = [];
    const closesAt = performance.now() + groupMillisecondsMax;
    for (let call = waiting.shift(); call !== undefined; call = waiting.shift()) {
      group.push(call);
      answers.push({ id: call.id, value: await this.#runCommand(call) });
      if (group.length >= commandsMax || performance.now() >= closesAt) break;
    }
    return answers;
  }

  /**
   * Runs each command of a failed group in its own transaction; nothing of the group is stored yet. So a command that fails, or
   * needs too much space, does not fail the others. If the group failed to read or write, nothing is tried again.
   */
  async #withoutGroup(group: Call[], error: StoreError, isOfOneCommand: boolean): Promise<Answer[]> {
    if (this.#database.isTransaction) this.#database.exec('rollback');
    const isFinal = !isOfOneCommand && (error.code === 'io' || error.code === 'corrupt');
    if (group.length <= 1 || isFinal) return refuse(group, error);
    const answers: Answer[] = [];
    for (const call of group) answers.push(...(await this.#takeOnce([call], 1)));
    return answers;
  }
}
