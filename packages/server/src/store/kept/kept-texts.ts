/**
 * Keeps long texts that were lately built, in the pieces in which they are sent. A reader requests the pieces of a text one after
 * the other, and output is often requested again; neither should read the job's events each time. The events of a text never
 * change, so a kept text is never wrong. A text that was forgotten is built again.
 */
import { Kept } from './kept.ts';

/** A piece in UTF-8, with the numbers of the event before its first event and of its last event. */
export interface KeptPiece {
  readonly after: number;
  readonly last: number;
  readonly content: Uint8Array;
}

/** A whole text. */
export interface KeptText {
  readonly bytes: number;
  /** The pieces, in order. */
  readonly pieces: readonly KeptPiece[];
}

/** Bytes of all kept texts together. */
const keptBytesMax = 8 * 2 ** 20;

/** Texts by name. */
export class KeptTexts extends Kept<KeptText> {
  constructor(bytesMax = keptBytesMax) {
    super({ sizeMax: bytesMax, sizeOf: ({ bytes }) => bytes });
  }
}
