/**
 * The JSON text of a large answer: how long it is, and its pieces, in UTF-8 where they are bytes. They are read from the
 * store one after the other, when the one before was taken. So a client that reads slowly has little of it in this process
 * at any time.
 */

/** Text, or what will be read: how many bytes that is, and the pieces that it comes in. */
export type Part = string | LongPart;

export interface LongPart {
  readonly bytes: number;
  /** Rejects where what was there at first is gone since. */
  pieces(): AsyncIterable<string | Uint8Array>;
}

export interface Body extends LongPart {
  /** All of it, where nothing has to be read any more. */
  readonly text: string | null;
}

/** The body that these parts make up, in their order. */
export function bodyOf(parts: readonly Part[]): Body {
  const isShort = parts.every((part) => typeof part === 'string');
  return {
    text: isShort ? parts.join('') : null,
    bytes: parts.reduce((sum, part) => sum + (typeof part === 'string' ? Buffer.byteLength(part) : part.bytes), 0),
    async *pieces() {
      for (const part of parts) {
        if (typeof part === 'string') yield part;
        else yield* part.pieces();
      }
    },
  };
}
