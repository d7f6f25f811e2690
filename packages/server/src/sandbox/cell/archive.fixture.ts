/** Library archives, built entry by entry, so that a test can write entries that no packer writes. */
import { gzipSync } from 'node:zlib';

export interface ArchiveEntry {
  readonly name: string;
  readonly content?: string | Uint8Array;
  /** The entry's type flag in tar(5). Default: a file. */
  readonly kind?: string;
  readonly mode?: number;
  /** The size in the header, as a number or as its text. Default: the size of the content. */
  readonly size?: number | string;
  readonly target?: string;
}

const BLOCK = 512;

/** One entry: its header, and its content in whole blocks. */
export function entryBytes({ name, content = '', kind = '0', mode = 0o644, size, target = '' }: ArchiveEntry): Buffer {
  const bytes = Buffer.from(content);
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0, 100);
  header.write(mode.toString(8).padStart(7, '0'), 100);
  header.write(typeof size === 'string' ? size : (size ?? bytes.length).toString(8).padStart(11, '0'), 124);
  header.write(`        ${kind}${target}`, 148);
  header.write('ustar\0', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([header, bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)]);
}

export function archiveOf(entries: readonly ArchiveEntry[]): Buffer<ArrayBuffer> {
  return Buffer.from(gzipSync(Buffer.concat([...entries.map(entryBytes), Buffer.alloc(2 * BLOCK)])));
}

/** A copy of the bytes with one byte changed: the byte at `at`, counted from the end if negative. */
export function changed(bytes: Uint8Array, at: number): Buffer<ArrayBuffer> {
  const copy = Buffer.from(bytes);
  const index = (at + copy.length) % copy.length;
  copy.writeUInt8(copy.readUInt8(index) ^ 1, index);
  return copy;
}
