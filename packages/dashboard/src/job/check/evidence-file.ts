/**
 * The file that a job is handed on in: an archive of its export, or the verify page with that archive behind it. The page is
 * there byte for byte, and what follows it is a block of data, which no browser runs: the digest of the page can be compared
 * with that of the one which a service serves.
 */
import { type ExportChoice, encodeBase64, exportFiles, sha256Hex } from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { exportSource, type RecordToCheck, type SignedRecord } from './check-record.ts';
import { zipOf } from './zip.ts';

/** What the thread is given beside the events. */
export interface RecordToExport extends SignedRecord, Omit<RecordToCheck, 'signed'>, ExportChoice {
  /** Files that are known by their digests, as far as they are still stored, by their `sha256:…`. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
  /** The bytes of the verify page; null for an archive alone. */
  readonly page: Uint8Array<ArrayBuffer> | null;
}

/** A multiple of three, so that the pieces are one base64 text together. */
const pieceBytes = 3 * 2 ** 20;

/** @throws ExportFailure if what the service gave is no export */
export async function evidenceFile(
  events: readonly JobEvent[],
  { page, program, blobs, ...record }: RecordToExport,
): Promise<Blob> {
  const files = new Map<string, Uint8Array>();
  for (const [path, content] of exportFiles({ ...exportSource(events, record), blobs }, { program })) {
    // Every content is in memory here: what was not found was left out.
    if (content instanceof Uint8Array) files.set(`${record.job_id}/${path}`, content);
  }
  const archive = await zipOf(files);
  if (page === null) return new Blob([archive]);
  const pieces: string[] = [];
  for (let at = 0; at < archive.length; at += pieceBytes)
    pieces.push(encodeBase64(archive.subarray(at, at + pieceBytes)));
  const page256 = sha256Hex(page);
  const begin = `<script id="export" type="application/zip" data-page-bytes="${page.length}" data-page-sha256="${page256}">`;
  return new Blob([page, begin, ...pieces, '</script>\n']);
}
