/**
 * Short folded results, as the terminal transaction makes them: a wait for the end of a job is answered without reading
 * the store. They never change; only the removal of a job drops its result.
 */
import type { FoldedResult, JobEvent, OutputRecord, StreamName, Violation } from '@vouchbox/protocol';
import { type JsonText, textOf } from '../../ground/json-text.ts';
import { nameOfJob } from '../jobs/job-name.ts';
import type { JobKey } from '../records.ts';
import { Kept } from './kept.ts';

/** Characters of output and violations that a short result has at most. */
const charsMax = 32 * 1024;
/** Characters of all kept results together: at least some dozens of jobs, and thousands that write a line. */
const charsKeptMax = 2 * 2 ** 20;

/** The members of a result that are the job's own. */
export type Ended = Pick<FoldedResult, 'job_id' | 'status' | 'exit_code' | 'duration_ms' | 'truncated'>;

/**
 * The JSON text of the `FoldedResult` of a job that ended without artifacts, where it is short; else null. `contents` are
 * its stored output and violations, in order. Spec § GET /v1/jobs/{id}/result.
 */
export function shortResult(
  { job_id, status, exit_code, duration_ms, truncated }: Ended,
  contents: readonly Pick<JobEvent, 'kind' | 'data'>[],
): JsonText<FoldedResult> | null {
  const texts: Record<StreamName, string> = { stdout: '', stderr: '' };
  const violations: Violation[] = [];
  for (const { kind, data } of contents) {
    if (kind === 'violation') violations.push(data as Violation);
    if (kind === 'stdout' || kind === 'stderr') texts[kind] += lineOf(data as OutputRecord);
    if (texts.stdout.length + texts.stderr.length > charsMax) return null;
  }
  const members = { job_id, status, exit_code, duration_ms, ...texts, truncated, violations, artifacts: [] };
  const text = textOf<FoldedResult>(members);
  return text.length > 2 * charsMax ? null : text;
}

function lineOf({ text, partial }: OutputRecord): string {
  return partial ? text : `${text}\n`;
}

/** The short results of the jobs that ended last, by their owner's key. */
export class ShortResults {
  readonly #kept: Kept<JsonText<FoldedResult>>;

  constructor(max = charsKeptMax) {
    this.#kept = new Kept({ sizeMax: max, sizeOf: ({ length }) => length });
  }

  get(key: JobKey): JsonText<FoldedResult> | null {
    return this.#kept.get(nameOfJob(key)) ?? null;
  }

  keep(key: JobKey, text: JsonText<FoldedResult>): void {
    this.#kept.keep(nameOfJob(key), text);
  }

  /** Forgets all of them: jobs were removed. */
  clear(): void {
    this.#kept.clear();
  }
}
