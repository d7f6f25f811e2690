/** The log entry in the form that Sigstore's bundles carry. docs/decisions/0064 says what the readers of bundles demand. */
import {
  encodeBase64,
  LOG_ENTRY_KIND,
  type LogProof,
  logEntryBody,
  logLeaf,
  type NoteKey,
  parseLogProof,
  parseNote,
  rekorIdOf,
  type SignedStatement,
  verifyLogProof,
} from '@vouchbox/evidence';
import { type Check, failed, passed } from './report.ts';
import { statedEnd } from './signed-statement.ts';

/** The result of the proof, and the entry if the whole proof is good. */
export interface TlogEntry {
  readonly checks: readonly Check[];
  readonly entry: object | null;
}

/** The log entry of a statement whose signature was verified. The proof must hold under the key of the log. */
export async function tlogEntry(statement: SignedStatement, proof: Uint8Array, log: NoteKey): Promise<TlogEntry> {
  const parsed = parseLogProof(proof);
  if (parsed.kind === 'refused') return without('log_entry', `the proof is refused: ${parsed.reason}`);
  const verdict = await verifyLogProof(parsed.proof, logLeaf(statement), { log, witnesses: [] });
  if (verdict.kind === 'failed') return without(verdict.check, verdict.reason);
  const seconds = Math.floor((statedEnd(statement) ?? 0) / 1000);
  const problem = sigstoreProblem(parsed.proof, seconds);
  if (problem !== null) return without('log_entry', problem);
  const { index, checkpoint } = verdict;
  const checks = [
    passed('log_head', `${checkpoint.size} statements, signed by ${checkpoint.origin}`),
    passed('log_inclusion', `statement ${index}`),
  ];
  return { checks, entry: entryOf(statement, parsed.proof, { log, seconds }) };
}

function without(check: string, reason: string): TlogEntry {
  return { checks: [failed(check, reason)], entry: null };
}

/** Why Sigstore's tools would not accept a proof that holds; null if they accept it. */
function sigstoreProblem({ index, rekorHead }: LogProof, seconds: number): string | null {
  if (index === 0)
    return 'leaf 0 is the opening statement of the log, and Sigstore’s tools treat position 0 as no position';
  if (rekorHead === null) return 'the proof lacks the head in Rekor’s form: fetch the proof from the service again';
  const head = parseNote(rekorHead);
  if (head.kind === 'refused') return `its head in Rekor’s form is refused: ${head.reason}`;
  if (head.note.signatures.length !== 1) return 'its head in Rekor’s form must have exactly one signature line';
  return seconds > 0 ? null : 'the statement does not say when its job ended, but Sigstore’s tools need a time';
}

/**
 * `integratedTime` is the end of the job according to its statement, because the log signs no times for its leaves. No verifier
 * takes this time as proven, because the log gives no promise with it. But some verifiers refuse an entry without a time.
 */
function entryOf(
  statement: SignedStatement,
  { index, hashes, checkpoint, rekorHead }: LogProof,
  { log, seconds }: { readonly log: NoteKey; readonly seconds: number },
): object {
  return {
    logIndex: String(index),
    logId: { keyId: encodeBase64(rekorIdOf(log)) },
    kindVersion: LOG_ENTRY_KIND,
    integratedTime: String(seconds),
    inclusionProof: {
      logIndex: String(index),
      rootHash: encodeBase64(checkpoint.root),
      treeSize: String(checkpoint.size),
      hashes: hashes.map(encodeBase64),
      checkpoint: { envelope: rekorHead },
    },
    canonicalizedBody: encodeBase64(logEntryBody(statement)),
  };
}
