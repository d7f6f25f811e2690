/** From a record as it is stored to its attestation. What cannot be read any more is a contradiction like any other. */
import { type AttestResult, attest, type EnvelopeSigner, isJsonObject, type StoredReceipt } from '@svc/evidence';
import type { JobEvent, TerminalStatus } from '@svc/protocol';
import { unpackHistory } from '../../store/reading/packed-history.ts';
import type { StoredEvent, TerminalRecord } from '../../store/records.ts';

/** Checks the record again and signs what it says; see `attest`. */
export function attestRecord(record: TerminalRecord, signer: EnvelopeSigner): AttestResult {
  const { receipt_json, history, ...row } = record;
  const receipt = parsed(receipt_json);
  if (!isJsonObject(receipt)) return inconsistent('the receipt is not JSON');
  const stored = unpackHistory(record.job_id, history);
  const events = eventsOf(stored);
  if (typeof events === 'number') return inconsistent(`event ${events} is not JSON`);
  // A status that is none contradicts the receipt, and is found there.
  const job = { ...row, status: row.status as TerminalStatus, finished_at: row.finished_at ?? '' };
  const dataTexts = stored.map(({ data }) => data);
  return attest({ job, receipt: receipt as StoredReceipt, events, dataTexts }, signer);
}

/** The history, or the number of the first event whose data cannot be read. */
function eventsOf(history: readonly StoredEvent[]): JobEvent[] | number {
  const events: JobEvent[] = [];
  for (const stored of history) {
    const data = parsed(stored.data);
    if (data === undefined) return stored.seq;
    events.push({ ...stored, data });
  }
  return events;
}

/** Undefined, which no JSON text stands for, where the text is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function inconsistent(reason: string): AttestResult {
  return { kind: 'inconsistent', reason };
}
