/**
 * The thread that reads the store. With a thread of their own, reads never wait for a long commit. Each group of queries sees one
 * state of the store, at least as new as the last write that was answered before the queries.
 */
import { READS, runCommand } from '../../commands.ts';
import type { StoreDatabase } from '../../schema.ts';
import { type Answer, type Call, portable, type ThreadData } from '../../threads/messages.ts';
import type { SendReport, StoreThread } from '../../threads/store-thread.ts';
import { openForReading } from '../connection.ts';
import { storeErrorOf } from '../error.ts';

/** How long a group of queries may take before it is answered. While one state is being read, the log cannot start again. */
const groupMillisecondsMax = 2;

export async function openReader({ place }: ThreadData, report: SendReport): Promise<StoreThread> {
  const connection = openForReading(place);
  const { database, db } = connection;
  const begin = database.prepare('begin');
  const commit = database.prepare('commit');
  return {
    names: Object.keys(READS),
    async work(waiting) {
      begin.run();
      try {
        report({ kind: 'answers', answers: await answerGroup(waiting, db) });
      } finally {
        commit.run();
      }
    },
    [Symbol.asyncDispose]: async () => connection[Symbol.dispose](),
  };
}

async function answerGroup(waiting: Call[], db: StoreDatabase): Promise<Answer[]> {
  const answers: Answer[] = [];
  const closesAt = performance.now() + groupMillisecondsMax;
  for (let call = waiting.shift(); call !== undefined; call = waiting.shift()) {
    answers.push(await answer(call, db));
    if (performance.now() >= closesAt) break;
  }
  return answers;
}

async function answer(call: Call, db: StoreDatabase): Promise<Answer> {
  try {
    return { id: call.id, value: await runCommand(READS, call, db) };
  } catch (thrown) {
    return { id: call.id, error: portable(storeErrorOf(thrown)) };
  }
}
