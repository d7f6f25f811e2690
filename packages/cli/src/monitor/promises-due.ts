/**
 * Keeps the evidence that shows whether a log kept a promise: the first head that a witness signed after the promised time.
 * Nobody can make such a head later. `service-verify promise` takes the head and checks the promise, which is only read here.
 */
import { existsSync, writeFileSync } from 'node:fs';
import {
  decodeEnvelope,
  decodeStatement,
  type NoteKey,
  noteText,
  type PromisePredicate,
  readPromise,
  treeKeyOf,
} from '@vouchbox/evidence';
import { envelopeBytesMax } from '@vouchbox/protocol/vocabulary';
import { isSameLog } from '@vouchbox/verifier';
import { readWhole } from '@vouchbox/verifier/command';
import { UsageError } from '../failures/usage-error.ts';
import { note } from '../terminal/print.ts';
import type { FineLook } from './look.ts';

export interface AwaitedPromise extends Pick<PromisePredicate, 'jobId' | 'logOrigin' | 'logKey'> {
  readonly file: string;
  /** The promised time, in seconds since the epoch. */
  readonly due: number;
}

/** The promises in the files, except those for which a head is already kept. */
export function awaitedPromises(files: readonly string[]): AwaitedPromise[] {
  return [...new Set(files)].filter((file) => !existsSync(headFile(file))).map(promiseIn);
}

const headFile = (file: string) => `${file}.head`;

function promiseIn(file: string): AwaitedPromise {
  const refuse = (reason: string) => new UsageError(`${file} is no promise: ${reason}`);
  const decoded = decodeEnvelope(readWhole(file, envelopeBytesMax));
  if (decoded.kind === 'refused') throw refuse(decoded.reason);
  const read = decodeStatement(decoded.envelope.payload);
  if (read.kind === 'refused') throw refuse(read.reason);
  const promise = readPromise(read.statement);
  if (promise.kind === 'refused') throw refuse(promise.reason);
  const { jobId, logOrigin, logKey, answerBy } = promise.predicate;
  return { file, jobId, logOrigin, logKey, due: Date.parse(answerBy) / 1000 };
}

/** Keeps the head, even of a later tree, for each promise that was due when a witness signed the head. Returns the others. */
export function keepDue(
  promises: AwaitedPromise[],
  { head, witnessedAt }: Pick<FineLook, 'head' | 'witnessedAt'>,
  log: NoteKey,
): AwaitedPromise[] {
  const shown = treeKeyOf(log, head.origin) ?? log;
  const isDue = (promise: AwaitedPromise) =>
    witnessedAt !== null && witnessedAt >= promise.due && isSameLog(promise, shown);
  for (const { file, jobId } of promises.filter(isDue)) {
    writeFileSync(headFile(file), noteText(head.note), { mode: 0o600, flag: 'wx', flush: true });
    note(`the log had to answer for ${jobId} by now: a head of ${head.size} statements is in ${headFile(file)}`);
    note(`ask for the proof of the job, and: service-verify promise ${file} --head ${headFile(file)} …`);
  }
  return promises.filter((promise) => !isDue(promise));
}
