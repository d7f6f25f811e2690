/**
 * An export within the page's own file, saved by a dashboard as text after the page. The page itself is byte for byte the page
 * that a service serves. It ends with the start of a `plaintext` element, which no tag can end. So everything after the page is
 * only text, and the page's bytes alone decide what the file shows.
 */
import { decodeBase64 } from '@vouchbox/evidence';
import type { DroppedFile } from './export-files.ts';

export interface Enclosed extends DroppedFile {
  /** The length and the digest of the page at the start of the file, as stated by whoever made the file. */
  readonly pageBytes: string;
  readonly pageDigest: string;
}

/** The characters in a piece: a multiple of four, so that each piece is valid base64 by itself. */
const pieceCharacters = 4 * 2 ** 20;

/** The export in the page's own file; null if the file has only the page. */
export function enclosedExport(): Enclosed | null {
  const block = document.getElementById('export');
  if (block === null) return null;
  const [pageBytes = '', pageDigest = '', text = ''] = block.textContent.trim().split(/\s/, 3);
  block.remove();
  if (pageBytes === '') return null;
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < text.length; at += pieceCharacters)
    pieces.push(decodeBase64(text.slice(at, at + pieceCharacters)) ?? new Uint8Array());
  return { path: 'export.zip', file: new File(pieces, 'export.zip'), pageBytes, pageDigest };
}
