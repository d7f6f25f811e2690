/** Makes the attestation for a stored record. A part that cannot be read counts as a contradiction like any other. */
import { type AttestResult, attest, type EnvelopeSigner, isJsonObject, type StoredReceipt } from '@vouchbox/evidence';
import type { JobEvent, TerminalStatus } from '@vouchbox/protocol';
import { storedValue } from '../../ground/json-text.ts';
import { unpackHistory } from '../../store/history/packed-history.ts';
import { eventsOfStoredRun, isRun } from '../../store/history/stored-runs.ts';
import type { TerminalRecord } from '../../store/records/answers.ts';
import type { StoredRun } from '../../store/records/rows.ts';

/** Checks the record again and signs it; see `attest`. */
export function attestRecord(record: TerminalRecord, signer: EnvelopeSigner): AttestResult {
  const { receipt_json, history: _history, runs: _runs, ...row } = record;
  const receipt = storedValue(receipt_json);
  if (!isJsonObject(receipt)) return inconsistent('the receipt is not JSON');
  const read = readHistory(record);
  if ('reason' in read) return inconsistent(read.reason);
  // `attest` notices an invalid status, because the status then contradicts the receipt.
  const job = { ...row, status: row.status as TerminalStatus, finished_at: row.finished_at ?? '' };
  return attest({ job, receipt: receipt as StoredReceipt, ...read, kept: row }, signer);
}

interface ReadHistory {
  readonly events: readonly JobEvent[];
  /** The stored texts of the events' data. Undefined for events from a run, because their data have only one form. */
  readonly dataTexts: readonly (string | undefined)[];
}

function readHistory({ job_id, history, runs }: TerminalRecord): ReadHistory | { readonly reason: string } {
  const events: JobEvent[] = [];
  const dataTexts: (string | undefined)[] = [];
  for (const part of [...unpackHistory(job_id, history), ...runs].toSorted((one, other) => one.seq - other.seq)) {
    if (isRun(part)) {
      if (!addRun(events, job_id, part)) return { reason: `the output after event ${part.seq - 1} cannot be read` };
      continue;
    }
    const data = storedValue(part.data);
    if (data === undefined) return { reason: `event ${part.seq} is not JSON` };
    dataTexts[events.length] = part.data;
    events.push({ ...part, data });
  }
  return { events, dataTexts };
}

/** Adds a run's events. Returns false if the stored bytes are not a run. */
function addRun(events: JobEvent[], job_id: string, run: StoredRun): boolean {
  try {
    for (const event of eventsOfStoredRun(job_id, run)) events.push(event);
    return true;
  } catch {
    return false;
  }
}

function inconsistent(reason: string): AttestResult {
  return { kind: 'inconsistent', reason };
}
