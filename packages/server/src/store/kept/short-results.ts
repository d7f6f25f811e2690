/**
 * Keeps short folded results from terminal transactions, so that a wait for the end of a job is answered without reading the
 * store. Results never change, and are cleared when jobs are removed. A longer result is kept for the answer to one wait, and
 * then forgotten.
 */
import type { FoldedResult, StreamName, Violation } from '@vouchbox/protocol';
import { type JsonText, textOf } from '../../ground/json-text.ts';
import type { JobKey } from '../records/rows.ts';
import { nameOfJob } from '../records/rows.ts';
import { Kept } from './kept.ts';

/** The most characters of output in a short result. For a result that a caller waits for: as many as a stream may record. */
const charsMax = 32 * 1024;
const awaitedCharsMax = 2 ** 20;
/** How many characters all kept results together may have: a few long results, or thousands of one line each. */
const charsKeptMax = 4 * 2 ** 20;
/** How many characters of a long text are examined to tell whether its JSON is much longer than the text. */
const sampleChars = 4096;

/** The members of a result that come from the job's row, and whether a caller waits for the result. */
export interface Ended
  extends Pick<FoldedResult, 'job_id' | 'status' | 'exit_code' | 'duration_ms' | 'truncated' | 'large_outputs'> {
  readonly isAwaited?: boolean;
}

/** The stored output, folded, and the stored violations in order. */
export interface EndedContents {
  readonly folded: Readonly<Record<StreamName, string>>;
  readonly violations: readonly Violation[];
}

/**
 * The JSON text of the `FoldedResult` of a job that ended without artifacts; null if the text is not short. Spec § GET
 * /v1/jobs/{id}/result.
 */
export function shortResult(
  { job_id, status, exit_code, duration_ms, truncated, large_outputs, isAwaited = false }: Ended,
  { folded: { stdout, stderr }, violations }: EndedContents,
): JsonText<FoldedResult> | null {
  const max = isAwaited ? awaitedCharsMax : charsMax;
  if (stdout.length + stderr.length > max || isSpelledLonger(stdout) || isSpelledLonger(stderr)) return null;
  const members = {
    job_id,
    status,
    exit_code,
    duration_ms,
    stdout,
    stderr,
    truncated,
    violations: [...violations],
    artifacts: [],
    ...(large_outputs !== undefined && { large_outputs }),
  };
  const text = textOf<FoldedResult>(members);
  return text.length > 2 * max ? null : text;
}

/** Whether the beginning of a long text is more than twice as long in JSON. A text of U+0000 becomes six times as long. */
function isSpelledLonger(text: string): boolean {
  return text.length > sampleChars && JSON.stringify(text.slice(0, sampleChars)).length > 2 * sampleChars;
}

/** The short results of the jobs that ended last, by job key. */
export class ShortResults {
  readonly #kept: Kept<JsonText<FoldedResult>>;

  /** A kept result is returned for at most `millisecondsMax` after its job ended. */
  constructor(max = charsKeptMax, millisecondsMax = Number.POSITIVE_INFINITY) {
    this.#kept = new Kept({ sizeMax: max, sizeOf: ({ length }) => length, millisecondsMax });
  }

  /** The short result of a job; null if the result must be read from the store. A long result is returned only once. */
  take(key: JobKey): JsonText<FoldedResult> | null {
    const name = nameOfJob(key);
    const text = this.#kept.get(name);
    if (text === undefined) return null;
    if (text.length > 2 * charsMax) this.#kept.forget(name);
    return text;
  }

  keep(key: JobKey, text: JsonText<FoldedResult>): void {
    this.#kept.keep(nameOfJob(key), text);
  }

  /** Forgets all kept results, because jobs were removed. */
  clear(): void {
    this.#kept.clear();
  }
}
