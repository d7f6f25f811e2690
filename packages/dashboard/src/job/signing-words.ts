/** Whether a job is signed and by whom, in a few words. */
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
  /** Undefined until the check has ended. */
  readonly record: CheckedRecord | undefined;
  /** Whether the check itself failed. */
  readonly isError: boolean;
  readonly isPinned: boolean;
}

/** Characters of a key id that are shown where there is little room: `sha256:` and twelve digits. */
const keyCharacters = 19;

export function signingWords({ status, attestation }: JobDetail, { record, isError, isPinned }: Checked): SigningWords {
  const by = `by ${printable(attestation.key_id ?? '').slice(0, keyCharacters)}…`;
  if (!isTerminal(status)) return { tone: 'quiet', word: 'not yet', sentence: 'It is signed when it has ended.' };
  if (!attestation.available)
    return { tone: 'quiet', word: 'not signed', sentence: 'A service that does not sign never signs it.' };
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
