/**
 * An export that is a part of the page's own file, as a dashboard saves it: a block of data behind the page. The page before it
 * is byte for byte the one that a service serves.
 */
import { decodeBase64 } from '@vouchbox/evidence';
import type { DroppedFile } from './export-files.ts';

export interface Enclosed extends DroppedFile {
  /** How many bytes of the file are the page, and their digest, as its maker states them. */
  readonly pageBytes: string;
  readonly pageDigest: string;
}

/** A multiple of four, so that each piece is base64 by itself. */
const pieceCharacters = 4 * 2 ** 20;

/** The export in the page's own file; null for the page alone. */
export function enclosedExport(): Enclosed | null {
  const block = document.getElementById('export');
  if (!(block instanceof HTMLScriptElement)) return null;
  const text = block.text.trim();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < text.length; at += pieceCharacters)
    pieces.push(decodeBase64(text.slice(at, at + pieceCharacters)) ?? new Uint8Array());
  const { pageBytes = '', pageSha256: pageDigest = '' } = block.dataset;
  block.remove();
  return { path: 'export.zip', file: new File(pieces, 'export.zip'), pageBytes, pageDigest };
}
