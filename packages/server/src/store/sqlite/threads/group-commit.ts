/**
 * Commands that wait together share one transaction, and so one sync of the disk. Each runs in its own savepoint, so a
 * command that fails does not undo the others. No caller is answered before the commit.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { StoreError } from '../../store-error.ts';
import { type Answer, type Call, portable } from '../../threads/messages.ts';
import { storeErrorOf } from '../error.ts';

/** Runs one command inside the transaction that is open. */
export type RunCommand = (call: Call) => Promise<unknown>;

/** A group closes when it holds this many commands or took this long. Each of its callers waits for all of it. */
export const groupCommandsMax = 2048;
const groupMillisecondsMax = 20;

export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #runCommand: RunCommand;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #savepoint: StatementSync;
  readonly #release: StatementSync;

  constructor(database: DatabaseSync, runCommand: RunCommand) {
    this.#database = database;
    this.#runCommand = runCommand;
    this.#begin = database.prepare('begin immediate');
    this.#commit = database.prepare('commit');
    this.#savepoint = database.prepare('savepoint command');
    this.#release = database.prepare('release command');
  }

  /**
   * Takes commands from the front of `waiting`, as many as one transaction should hold, and answers each of them. What
   * an answer says is on disk; what it refuses changed nothing.
   */
  async take(waiting: Call[]): Promise<Answer[]> {
    const group: Call[] = [];
    try {
      this.#begin.run();
    } catch (thrown) {
      return refuse(waiting.splice(0, groupCommandsMax), storeErrorOf(thrown));
    }
    try {
      const answers = await this.#runGroup(waiting, group);
      this.#commit.run();
      return answers;
    } catch (thrown) {
      return this.#withoutGroup(group, storeErrorOf(thrown));
    }
  }

  /** Moves each command that it runs from `waiting` to `group`. */
  async #runGroup(waiting: Call[], group: Call[]): Promise<Answer[]> {
    const answers: Answer[] = [];
    const closesAt = performance.now() + groupMillisecondsMax;
    for (let call = waiting.shift(); call !== undefined; call = waiting.shift()) {
      group.push(call);
      answers.push(await this.#runApart(call));
      if (group.length >= groupCommandsMax || performance.now() >= closesAt) break;
    }
    return answers;
  }

  /** Throws only if the whole transaction is gone: SQLite ends it by itself when space or memory runs out. */
  async #runApart(call: Call): Promise<Answer> {
    this.#savepoint.run();
    try {
      const value = await this.#runCommand(call);
      this.#release.run();
      return { id: call.id, value };
    } catch (thrown) {
      if (!this.#database.isTransaction) throw thrown;
      this.#database.exec('rollback to command; release command');
      return { id: call.id, error: portable(storeErrorOf(thrown)) };
    }
  }

  /**
   * The group's transaction failed as a whole, and nothing of it is stored. One command that is too large for the space
   * left must not refuse the others, so each is tried alone; after a failed read or write nothing is tried again.
   */
  async #withoutGroup(group: Call[], error: StoreError): Promise<Answer[]> {
    if (this.#database.isTransaction) this.#database.exec('rollback');
    if (group.length <= 1 || error.code === 'io' || error.code === 'corrupt') return refuse(group, error);
    const answers: Answer[] = [];
    for (const call of group) answers.push(...(await this.take([call])));
    return answers;
  }
}

function refuse(calls: readonly Call[], error: StoreError): Answer[] {
  return calls.map(({ id }) => ({ id, error: portable(error) }));
}
