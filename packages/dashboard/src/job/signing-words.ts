/** Says in a few words whether a job is signed and by whom, and when a page asks again for a late signature. */
import type { JobDetail } from '@vouchbox/client';
import { isTerminal, printable } from '@vouchbox/protocol/vocabulary';
import type { Tone } from '../parts/notice.tsx';
import type { CheckedRecord } from './check/check-record.ts';

export interface SigningWords {
  readonly tone: Tone;
  readonly word: string;
  readonly sentence: string;
}

interface Checked {
  /** The result of the check; undefined until the check has ended. */
  readonly record: CheckedRecord | undefined;
  /** Whether the check itself failed. */
  readonly isError: boolean;
  readonly isPinned: boolean;
  /** Whether the service signs at all; true until that is known. */
  readonly signs: boolean;
}

/** How many characters of a key id are shown where there is little room: `sha256:` and twelve digits. */
const keyCharacters = 19;

/** The first pause between two requests and the longest pause, in milliseconds. */
const firstMilliseconds = 700;
const lastMilliseconds = 60_000;

/** Milliseconds until the next request for the detail, after `asked` requests; false if no signature is expected. */
export function recheckMilliseconds(
  job: JobDetail | undefined,
  { signs, asked }: { readonly signs: boolean; readonly asked: number },
): number | false {
  const isAwaited = job !== undefined && isTerminal(job.status) && !job.attestation.available;
  return signs && isAwaited && Math.min(firstMilliseconds * 2 ** (asked - 1), lastMilliseconds);
}

export function signingWords({ status, attestation }: JobDetail, checked: Checked): SigningWords {
  const { record, isError, isPinned, signs } = checked;
  const by = `by ${printable(attestation.key_id ?? '').slice(0, keyCharacters)}…`;
  if (!attestation.available) {
    if (!signs) return { tone: 'quiet', word: 'not signed', sentence: 'This service does not sign.' };
    return isTerminal(status)
      ? { tone: 'quiet', word: 'not signed yet', sentence: 'The signature follows the end, mostly at once.' }
      : { tone: 'quiet', word: 'not yet', sentence: 'It is signed when it has ended.' };
  }
  if (isError) return { tone: 'warn', word: 'signed, not checked', sentence: `${by}; the check could not be made` };
  if (record === undefined) return { tone: 'quiet', word: 'checking…', sentence: by };
  if (record.exitCode !== 0) {
    const bad = record.checks.find(({ isGood }) => !isGood);
    return { tone: 'bad', word: `Broken: ${printable(bad?.name ?? 'unknown')}`, sentence: 'Do not trust this result.' };
  }
  return isPinned
    ? { tone: 'good', word: 'verified', sentence: `${by}, which you pinned` }
    : { tone: 'quiet', word: 'signed, signer not checked', sentence: `${by}; the record is consistent` };
}
