/**
 * The thread that reads the store, so that a long commit delays no read. Each group of queries sees one state of the
 * store, at least as new as the last write that was answered before them.
 */
import { movable } from '../../../ground/movable.ts';
import { type AnswerOf, READS, type Reads, runCommand } from '../../commands.ts';
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
        const { answers, moved } = await answerGroup(waiting, ledger);
        report({ kind: 'answers', answers }, moved);
      } finally {
        commit.run();
      }
    },
    [Symbol.asyncDispose]: async () => connection[Symbol.dispose](),
  };
}

interface GroupAnswers {
  readonly answers: Answer[];
  readonly moved: ArrayBuffer[];
}

async function answerGroup(waiting: Call[], ledger: LedgerDatabase): Promise<GroupAnswers> {
  const answers: Answer[] = [];
  const moved: ArrayBuffer[] = [];
  const closesAt = performance.now() + groupMillisecondsMax;
  for (let call = waiting.shift(); call !== undefined; call = waiting.shift()) {
    const answered = await answer(call, ledger);
    answers.push(answered);
    if ('value' in answered) moved.push(...movedWith(call.name, answered.value));
    if (performance.now() >= closesAt) break;
  }
  return { answers, moved };
}

type BytesOf<Name extends keyof Reads> = (answer: AnswerOf<Reads[Name]>) => readonly Uint8Array[];

/** Large bytes of these answers are handed over: they were read for this answer alone. */
const BYTES_OF: { readonly [Name in keyof Reads]?: BytesOf<Name> } = {
  artifactPiece: (piece) => (piece === null ? [] : [piece]),
  textPiece: (piece) => (piece === null ? [] : [piece.content]),
  terminalRecords: (results) =>
    results.flatMap((result) =>
      result.kind === 'record' ? [result.record.history, ...result.record.runs.map(({ content }) => content)] : [],
    ),
};

function movedWith(name: string, value: unknown): ArrayBuffer[] {
  const bytesOf = BYTES_OF[name as keyof Reads] as BytesOf<keyof Reads> | undefined;
  return bytesOf === undefined ? [] : movable(...bytesOf(value as AnswerOf<Reads[keyof Reads]>));
}

async function answer(call: Call, ledger: LedgerDatabase): Promise<Answer> {
  try {
    return { id: call.id, value: await runCommand(READS, call, ledger) };
  } catch (thrown) {
    return { id: call.id, error: portable(thrown) };
  }
}
