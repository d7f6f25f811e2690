/**
 * The file for passing a job on: an archive of its export, or the verify page followed by that archive. The page is included
 * byte for byte, so its digest can be compared with the digest of the page that a service serves. The end of the page makes
 * a browser read the archive after it as text.
 */
import { type ExportChoice, encodeBase64, exportFiles, sha256Hex } from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { zipSync } from 'fflate';
import { exportSource, type RecordToCheck, type SignedRecord } from './check-record.ts';

/** The data that the thread gets together with the events. */
export interface RecordToExport extends SignedRecord, Omit<RecordToCheck, 'signed'>, ExportChoice {
  /** The files that are named by a digest and are still stored, keyed by their `sha256:…`. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
  /** The bytes of the verify page; null if only an archive is made. */
  readonly page: Uint8Array<ArrayBuffer> | null;
}

/** The bytes in a piece: a multiple of three, so that the pieces' base64 texts can be joined. */
const pieceBytes = 3 * 2 ** 20;

/** The time of every file in an archive: the first day that the format can state, so that equal files make equal archives. */
const FIRST_DAY = new Date(1980, 0, 1);

/** @throws ExportFailure if the service's answers are not a valid export */
export function evidenceFile(events: readonly JobEvent[], { page, program, blobs, ...record }: RecordToExport): Blob {
  const files: Record<string, Uint8Array> = {};
  for (const [path, content] of exportFiles({ ...exportSource(events, record), blobs }, { program })) {
    // All contents are in memory here, because files that are no longer stored were left out.
    if (content instanceof Uint8Array) files[`${record.job_id}/${path}`] = content;
  }
  const archive = zipSync(files, { mtime: FIRST_DAY });
  if (page === null) return new Blob([archive]);
  const pieces: string[] = [];
  for (let at = 0; at < archive.length; at += pieceBytes)
    pieces.push(encodeBase64(archive.subarray(at, at + pieceBytes)));
  return new Blob([page, `${page.length} ${sha256Hex(page)}\n`, ...pieces, '\n']);
}
