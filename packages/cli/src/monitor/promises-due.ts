/**
 * Keeps what shows later whether a promise was kept: the first head that a witness signed once its time was over. Nobody can make
 * that head afterwards. `service-verify promise` takes it, and checks what is only read here.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type Checkpoint, decodeEnvelope, decodeStatement, noteText, readPromise } from '@vouchbox/evidence';
import { UsageError } from '../failures/usage-error.ts';
import { note } from '../terminal/print.ts';

export interface AwaitedPromise {
  readonly file: string;
  readonly jobId: string;
  readonly logOrigin: string;
  /** In seconds since the epoch. */
  readonly due: number;
}

/** The promises of these files whose heads are not kept yet. */
export function awaitedPromises(files: readonly string[]): AwaitedPromise[] {
  return files.filter((file) => !existsSync(headFile(file))).map(promiseIn);
}

const headFile = (file: string) => `${file}.head`;

function promiseIn(file: string): AwaitedPromise {
  const refuse = (reason: string) => new UsageError(`${file} is no promise: ${reason}`);
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (cause) {
    throw new UsageError(`${file} cannot be read: ${(cause as NodeJS.ErrnoException).code}`, { cause });
  }
  const decoded = decodeEnvelope(Uint8Array.from(bytes));
  if (decoded.kind === 'refused') throw refuse(decoded.reason);
  const read = decodeStatement(decoded.envelope.payload);
  if (read.kind === 'refused') throw refuse(read.reason);
  const promise = readPromise(read.statement);
  if (promise.kind === 'refused') throw refuse(promise.reason);
  const { jobId, logOrigin, answerBy } = promise.predicate;
  return { file, jobId, logOrigin, due: Date.parse(answerBy) / 1000 };
}

/** Keeps the head for each promise whose time was over when a witness saw it; those that still wait. */
export function keepDue(promises: AwaitedPromise[], head: Checkpoint, witnessedAt: number | null): AwaitedPromise[] {
  const isDue = ({ due, logOrigin }: AwaitedPromise) =>
    witnessedAt !== null && witnessedAt >= due && logOrigin === head.origin;
  for (const { file, jobId } of promises.filter(isDue)) {
    writeFileSync(headFile(file), noteText(head.note), { mode: 0o600, flag: 'wx', flush: true });
    note(`the log was to answer for ${jobId} by now: a head of ${head.size} statements is in ${headFile(file)}`);
    note(`ask for the proof of the job, and: service-verify promise ${file} --head ${headFile(file)} …`);
  }
  return promises.filter((promise) => !isDue(promise));
}
