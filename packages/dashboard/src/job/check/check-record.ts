/**
 * Checks a job. With pinned keys, the check is the same as with `service-verify directory`: the same files are made from the
 * service's answers, and none of them is trusted. Without pinned keys, the check only says whether the record is whole.
 */
import { canonicalJson, decodeBase64, type ExportSource, exportFiles, type StoredReceipt } from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { type Check, checkRecord, EXIT, ownBytes, parseExport, type Report, verifyExport } from '@vouchbox/verifier';

/** The parts of a record that are checked together with the events. */
export interface RecordToCheck {
  readonly job_id: string;
  /** The caller's tenant. */
  readonly tenant: string;
  readonly receipt: StoredReceipt;
  /** The signed parts and the pinned keys; null if no key is pinned. */
  readonly signed: (SignedRecord & PinnedPems) | null;
}

interface PinnedPems {
  /** PEM texts of the pinned keys, at least one. */
  readonly publicKeys: readonly string[];
}

/** The parts of an export other than the receipt and the events. */
export interface SignedRecord
  extends Pick<ExportSource, 'envelope' | 'result_artifact' | 'public_key_pem' | 'requested_spec'> {
  readonly artifacts: readonly { readonly path: string; readonly content_base64: string }[];
}

/** One event of the chain, with the members that are drawn. */
export type Ring = Pick<JobEvent, 'seq' | 'kind' | 'event_hash'>;

/** The result of a check. One thread sends it to another, so it is small, however long the history is. */
export interface CheckedRecord extends Report {
  /** The number of all events. */
  readonly eventCount: number;
  /** The number of the first wrong event; null if no event is wrong. */
  readonly firstBadSeq: number | null;
  /** The rings at both ends of the chain, and those around a broken ring. */
  readonly rings: readonly Ring[];
}

/** How many rings are drawn at each end. */
const ringsAtEnds = 3;

/** Makes every check on a record. The events must be in order. */
export async function checkWhole(events: readonly JobEvent[], record: RecordToCheck): Promise<CheckedRecord> {
  const { signed } = record;
  const report = signed === null ? unsignedReport(events, record) : await signedReport(events, record, signed);
  const firstBadSeq = badSeqOf(report.checks);
  const rings = events
    .filter(({ seq }) => {
      const isNearEnd = seq <= ringsAtEnds || seq > events.length - ringsAtEnds;
      return isNearEnd || (firstBadSeq !== null && Math.abs(seq - firstBadSeq) <= 1);
    })
    .map(({ seq, kind, event_hash }) => ({ seq, kind, event_hash }));
  return { ...report, eventCount: events.length, firstBadSeq, rings };
}

function signedReport(
  events: readonly JobEvent[],
  { job_id, tenant, receipt }: RecordToCheck,
  { publicKeys, ...signed }: SignedRecord & PinnedPems,
): Promise<Report> {
  const source = exportSource(events, { ...signed, tenant, job_id, receipt });
  const files = ownBytes(exportFiles(source, { program: 'kept' }));
  return verifyExport(parseExport(files), { publicKeys, tenant, job: job_id });
}

/** The parts of an export, made from the data that a thread gets. */
export function exportSource(
  events: readonly JobEvent[],
  { artifacts, receipt, ...others }: SignedRecord & Omit<RecordToCheck, 'signed'>,
): ExportSource {
  const decoded = artifacts.map(({ path, content_base64 }) => ({
    path,
    content: decodeBase64(content_base64) ?? new Uint8Array(),
  }));
  return { ...others, artifacts: decoded, receipt_json: canonicalJson(receipt), events };
}

function unsignedReport(events: readonly JobEvent[], { job_id, receipt }: RecordToCheck): Report {
  const isOfJob = receipt['job_id'] === job_id;
  const other: Check = { name: 'receipt', isGood: false, detail: 'it is of another job' };
  const checks = isOfJob ? checkRecord({ events, receipt }).checks : [other];
  const exitCode = checks.every(({ isGood }) => isGood) ? EXIT.good : EXIT.record;
  return { exitCode, checks, facts: {}, notice: null };
}

/** The number of the first wrong event, taken from the check of the chain. */
function badSeqOf(checks: readonly Check[]): number | null {
  const broken = checks.find(({ name, isGood }) => name === 'chain' && !isGood);
  const [, seq] = /^event (\d+):/.exec(broken?.detail ?? '') ?? [];
  return seq === undefined ? null : Number(seq);
}
