/**
 * The thread that reads the store. A group of reads shares one transaction, which sees one state of the store. That state is at
 * least as new as the last change that was answered before the reads. One session reads all groups, one after the other, because
 * each session is a process on the server, and a fleet has many nodes.
 */
import assert from 'node:assert';
import { OF_ONE_QUERY, READS, runCommand } from '../../commands.ts';
import { type Answer, type Call, refuse, type ThreadData } from '../../threads/messages.ts';
import type { SendReport, StoreThread } from '../../threads/store-thread.ts';
import { Session } from '../connection.ts';
import { isLoss, storeErrorOf } from '../error.ts';

const groupCallsMax = 16;

export async function openReader({ place }: ThreadData, report: SendReport): Promise<StoreThread> {
  const reader = new Reader(place, {});
  await reader.open();
  return {
    names: Object.keys(READS),
    async work(waiting) {
      report({ kind: 'answers', answers: await reader.answer(waiting.splice(0, groupCallsMax)) });
    },
    [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose](),
  };
}

/** Runs a read that makes a single query. The query needs no transaction, since it sees one snapshot. */
async function readAlone(session: Session, call: Call): Promise<Answer> {
  const before = session.asked;
  const value = await runCommand(READS, call, session.db);
  assert(session.asked === before + 1, `${call.name} reads the store with one query`);
  return { id: call.id, value };
}

/** Reads on a session of its own. A lost session is replaced when the next read needs one. */
class Reader implements AsyncDisposable {
  readonly #url: string;
  readonly #store: object;
  #session: Session | null = null;

  constructor(url: string, store: object) {
    this.#url = url;
    this.#store = store;
  }

  /** @throws StoreError */
  async open(): Promise<Session> {
    if (this.#session?.isLost === true) await this[Symbol.asyncDispose]();
    this.#session ??= await Session.open(this.#url, this.#store);
    return this.#session;
  }

  /** Answers every call. Reads change nothing, so they are repeated if the session turns out to be lost. */
  async answer(group: readonly Call[]): Promise<Answer[]> {
    const isOld = this.#session?.isLost === false;
    try {
      return await this.#readTogether(group);
    } catch (thrown) {
      const isLost = isLoss(thrown);
      if (isLost) await this[Symbol.asyncDispose]();
      if (isLost && isOld) return await this.answer(group);
      if (isLost || group.length === 1) return refuse(group, storeErrorOf(thrown));
      const answers: Answer[] = [];
      for (const call of group) answers.push(...(await this.answer([call])));
      return answers;
    }
  }

  /** Sends the queries of all calls as they come, and throws if any query fails. */
  async #readTogether(group: readonly Call[]): Promise<Answer[]> {
    const session = await this.open();
    const [call, ...others] = group;
    if (call !== undefined && others.length === 0 && OF_ONE_QUERY.has(call.name))
      return [await readAlone(session, call)];
    session.begin('isolation level repeatable read, read only');
    const read = await Promise.allSettled(group.map(async (call) => await runCommand(READS, call, session.db)));
    const answers: Answer[] = [];
    for (const [at, one] of read.entries()) {
      if (one.status === 'rejected') {
        await session.rollback();
        throw one.reason;
      }
      answers.push({ id: group[at]?.id ?? 0, value: one.value });
    }
    session.send({ sql: 'commit', parameters: [] });
    return answers;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session?.[Symbol.asyncDispose]();
    this.#session = null;
  }
}
