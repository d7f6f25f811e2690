/**
 * The JSON text of a large answer: its length and its pieces. A piece is text or UTF-8 bytes. It is read from the store
 * only once the piece before it was taken, so a slow client holds only a small part of the answer in memory.
 */
import { type JsonText, type Members, memberText } from '../ground/json-text.ts';

/** Text, or a part that is read later, given by its length in bytes and its pieces. */
type Part = string | LongPart;

export interface LongPart {
  readonly bytes: number;
  /** Rejects if the data has been removed since. */
  pieces(): AsyncIterable<string | Uint8Array>;
}

/** A JSON value, some parts of which are read only while it is sent. */
export class LongJson<T> {
  declare readonly value: T;
  readonly parts: readonly Part[];

  constructor(...parts: readonly Part[]) {
    this.parts = parts;
  }
}

/** An object that may have long members. */
export function longObject<T extends object>(
  members: { readonly [Name in keyof T]: Members<T, LongJson<T[Name]>>[Name] },
): LongJson<T> {
  const parts = Object.entries<unknown>(members).flatMap(([name, member], index): Part[] => [
    `${index === 0 ? '{' : ','}"${name}":`,
    ...(member instanceof LongJson ? member.parts : [memberText(member)]),
  ]);
  return new LongJson(...parts, '}');
}

export function longArray<T>(elements: readonly LongJson<T>[]): LongJson<T[]> {
  return new LongJson('[', ...elements.flatMap(({ parts }, index) => (index === 0 ? parts : [',', ...parts])), ']');
}

/** The JSON text of a `T`. */
export interface Body<T> extends LongPart {
  /** The whole text; null if some part must still be read. */
  readonly text: JsonText<T> | null;
}

/** A body's value, for use as a member of a longer body. */
export function jsonOf<T>(body: Body<T>): LongJson<T> {
  return new LongJson<T>(body.text ?? body);
}

/** The body that is sent for a value. */
export function bodyOf<T>(json: LongJson<T>): Body<T> {
  const parts = joined(json.parts);
  const [text] = parts;
  return {
    text: parts.length === 1 && typeof text === 'string' ? (text as JsonText<T>) : null,
    bytes: parts.reduce((sum, part) => sum + (typeof part === 'string' ? Buffer.byteLength(part) : part.bytes), 0),
    async *pieces() {
      for (const part of parts) {
        if (typeof part === 'string') yield part;
        else yield* part.pieces();
      }
    },
  };
}

/** Joins consecutive texts. */
function joined(parts: readonly Part[]): Part[] {
  const all: Part[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (typeof part === 'string' && typeof last === 'string') all[all.length - 1] = last + part;
    else all.push(part);
  }
  return all;
}
