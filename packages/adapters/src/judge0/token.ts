/**
 * A Judge0 token. It is the id of the job with what Judge0 would have stored beside it: the number of the language as
 * the caller gave it, and a digest of the output that the caller expects. So an adapter keeps nothing, and any of them
 * answers for every job. The program never sees the expected output.
 */
import { createHash } from 'node:crypto';
import { AdapterError } from '../adapter-error.ts';

export interface Token {
  readonly job_id: string;
  readonly languageNumber: number;
  /** Null if the caller expects no particular output. */
  readonly expectedDigest: string | null;
}

const NONE = 'none';

export function spellToken({ job_id, languageNumber, expectedDigest }: Token): string {
  return `${job_id}.${languageNumber}.${expectedDigest ?? NONE}`;
}

/** @throws AdapterError if no job of this adapter can have it */
export function parseToken(text: string): Token {
  const [, job_id = '', number, digest] =
    /^(job_[A-Za-z0-9_-]{1,64})\.(\d{1,4})\.(none|[A-Za-z0-9_-]{43})$/.exec(text) ?? [];
  if (number === undefined || digest === undefined)
    throw new AdapterError(404, 'there is no submission with this token');
  return { job_id, languageNumber: Number(number), expectedDigest: digest === NONE ? null : digest };
}

/** Of the text as Judge0 compares it: without white space at the end of each line and of the whole. */
export function outputDigest(text: string): string {
  const compared = text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trimEnd();
  return createHash('sha256').update(compared).digest('base64url');
}
