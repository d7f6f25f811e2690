/**
 * A Judge0 token. If nothing else must be remembered, the token is the UUID from the job's id, as long as Judge0's own tokens.
 * Otherwise the token also contains the values that Judge0 would have stored: the caller's number for the language, if it is
 * not the usual one, and a digest of the output that the caller expects. So an adapter stores nothing, and any adapter can
 * answer for every job. The program never sees the expected output.
 */
import { createHash } from 'node:crypto';
import { AdapterError } from '../adapter-error.ts';

export interface Token {
  readonly job_id: string;
  /** The caller's number for the job's language; null if it is the usual number, the one in the list. */
  readonly languageNumber: number | null;
  /** Null if the caller expects no particular output. */
  readonly expectedDigest: string | null;
}

const NONE = 'none';
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const SHORT = new RegExp(`^${UUID}$`);
const JOB_OF_UUID = new RegExp(`^job_(${UUID})$`);
const LONG = /^(job_[A-Za-z0-9_-]{1,64})\.(none|\d{1,4})\.(none|[A-Za-z0-9_-]{43})$/;

export function spellToken({ job_id, languageNumber, expectedDigest }: Token): string {
  const [, uuid] = JOB_OF_UUID.exec(job_id) ?? [];
  if (uuid !== undefined && languageNumber === null && expectedDigest === null) return uuid;
  return `${job_id}.${languageNumber ?? NONE}.${expectedDigest ?? NONE}`;
}

/** @throws AdapterError if no job of this adapter can have the token */
export function parseToken(text: string): Token {
  if (SHORT.test(text)) return { job_id: `job_${text}`, languageNumber: null, expectedDigest: null };
  const [, job_id, number, digest] = LONG.exec(text) ?? [];
  if (job_id === undefined) throw new AdapterError(404, 'there is no submission with this token');
  return {
    job_id,
    languageNumber: number === NONE ? null : Number(number),
    expectedDigest: digest === NONE || digest === undefined ? null : digest,
  };
}

/** The digest of an output. Like Judge0, it ignores white space at the end of each line and of the whole output. */
export function outputDigest(text: string): string {
  const compared = text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trimEnd();
  return createHash('sha256').update(compared).digest('base64url');
}
