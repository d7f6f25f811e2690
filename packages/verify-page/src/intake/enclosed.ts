/**
 * An export within the page's own file, as a dashboard saves it: text behind the page. The page before it is byte for
 * byte the one that a service serves. That page ends with the start of a `plaintext` element, which no tag can end. So
 * everything behind the page is only text, and the page's bytes alone decide what the file shows.
 */
import { decodeBase64 } from '@vouchbox/evidence';
import type { DroppedFile } from './export-files.ts';

export interface Enclosed extends DroppedFile {
  /** The length and the digest of the page at the beginning of the file, as the maker of the file states them. */
  readonly pageBytes: string;
  readonly pageDigest: string;
}

/** The characters of a piece: a multiple of four, so that each piece is base64 by itself. */
const pieceCharacters = 4 * 2 ** 20;

/** The export in the page's own file; null for the page alone. */
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
