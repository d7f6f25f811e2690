/**
 * `service-verify chain`: checks that all events follow one another from the first, and that the history matches the receipt.
 */
import { historyBytesMax, isJsonObject, parseStrictJson, type StoredReceipt } from '@vouchbox/evidence';
import { envelopeBytesMax, sizeText } from '@vouchbox/protocol/vocabulary';
import { checkRecord, type RecordVerdict } from './check-record.ts';
import { EXIT } from './exit-code.ts';
import { type History, joinHistories, parseHistory } from './history.ts';
import { readBounded } from './read-file.ts';
import { type Check, exitCodeOf, type Facts, failed, passed, type Report, refusal } from './report.ts';
import { UsageError } from './usage-error.ts';

export interface ChainOptions {
  /** A receipt, or a job detail that has a receipt. */
  readonly receipt?: string;
}

/** Recomputes the history in these files, in the order given. */
export function verifyHistory(files: readonly string[], { receipt: path }: ChainOptions): Report {
  const history = readHistory(files);
  if ('isGood' in history) return refusal(EXIT.record, [history]);
  const receipt = path === undefined ? null : readReceipt(path);
  if (receipt !== null && 'isGood' in receipt) return refusal(EXIT.record, [receipt]);
  const { events } = history;
  const { checks: found, chain } = checkRecord({ events, receipt: receipt?.stored ?? null });
  const checks = [
    passed('events', `${events.length} in ${files.length} ${files.length === 1 ? 'file' : 'files'}`),
    ...found,
  ];
  const exitCode = exitCodeOf(checks, EXIT.record);
  const notice = exitCode === EXIT.good ? noticeOf(history, receipt !== null) : null;
  return { exitCode, checks, facts: factsOf(history, chain), notice };
}

/** Reads the files of one history. One bound applies to all of them together. */
function readHistory(files: readonly string[]): History | Check {
  const parts: History[] = [];
  let left = historyBytesMax;
  for (const file of files) {
    const bytes = readBounded(file, left);
    if (bytes === null) return failed('events', `the files are larger than ${sizeText(historyBytesMax)} together`);
    const part = parseHistory(bytes);
    if ('problem' in part) return failed('events', `${file}: ${part.problem}`);
    parts.push(part);
    left -= bytes.length;
  }
  const history = joinHistories(parts);
  return history.events.length === 0 ? failed('events', 'there are none') : history;
}

function readReceipt(path: string): { readonly stored: StoredReceipt } | Check {
  const bytes = readBounded(path, envelopeBytesMax);
  if (bytes === null) return failed('receipt', `the file is larger than ${sizeText(envelopeBytesMax)}`);
  const json = parseStrictJson(bytes);
  if (json.kind === 'refused') return failed('receipt', json.reason);
  if (!isJsonObject(json.value)) return failed('receipt', 'it is not a JSON object');
  const stored = isJsonObject(json.value['receipt']) ? json.value['receipt'] : json.value;
  if (!Object.hasOwn(stored, 'receipt_sha256')) {
    throw new UsageError(`${path} is neither a receipt nor the detail of a job that has one`);
  }
  return { stored };
}

function factsOf({ events }: History, chain: RecordVerdict['chain']): Facts {
  const last = events.at(-1);
  const ending = { job_id: last?.job_id ?? null, last_seq: last?.seq ?? null, last_kind: last?.kind ?? null };
  return chain.kind === 'broken' ? { first_bad_seq: chain.seq, fault: chain.problem } : ending;
}

/** What the verdict shows: a history alone does not show whether later events exist, but a receipt counts all events. */
function noticeOf({ events, end }: History, hasReceipt: boolean): string {
  if (hasReceipt)
    return 'The history is whole, and the receipt belongs to it. Only an attestation shows who made them.';
  const isOver = events.at(-1)?.kind === 'finished';
  const cut = isOver && end !== 'more' ? '' : ' It does not reach the end of the job.';
  return `Every event follows from the one before.${cut} Only a receipt shows whether events after the last were cut off.`;
}
