/**
 * The thread that reads the store, so that a long commit delays no read. Each group of queries sees one state of the
 * store, at least as new as the last write that was answered before them.
 */
import { READS, runCommand } from '../../commands.ts';
import type { LedgerDatabase } from '../../schema.ts';
import { openForReading } from '../connection.ts';
import type { LedgerThread, SendReport } from './ledger-thread.ts';
import { type Answer, type Call, portable, type ThreadData } from './messages.ts';

/** A group of queries is answered when it took this long: the log cannot start again while one state is read. */
const groupMillisecondsMax = 2;

export async function openReader({ path }: ThreadData, report: SendReport): Promise<LedgerThread> {
  const connection = openForReading(path);
  const { database, ledger } = connection;
  const begin = database.prepare('begin');
  const commit = database.prepare('commit');
  return {
    names: Object.keys(READS),
    async work(waiting) {
      begin.run();
      try {
        report({ kind: 'answers', answers: await answerGroup(waiting, ledger) });
      } finally {
        commit.run();
      }
    },
    [Symbol.asyncDispose]: async () => connection[Symbol.dispose](),
  };
}

async function answerGroup(waiting: Call[], ledger: LedgerDatabase): Promise<Answer[]> {
  const answers: Answer[] = [];
  const closesAt = performance.now() + groupMillisecondsMax;
  for (let call = waiting.shift(); call !== undefined; call = waiting.shift()) {
    answers.push(await answer(call, ledger));
    if (performance.now() >= closesAt) break;
  }
  return answers;
}

async function answer(call: Call, ledger: LedgerDatabase): Promise<Answer> {
  try {
    return { id: call.id, value: await runCommand(READS, call, ledger) };
  } catch (thrown) {
    return { id: call.id, error: portable(thrown) };
  }
}
