/** Reads zip archives with stored and deflated entries, as every common tool writes them. APPNOTE.TXT 6.3.10 § 4.3. */
import { entriesMax, IntakeProblem, inflate, totalBytesMax } from './bounds.ts';

const END = 0x06054b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const END_BYTES = 22;
const COMMENT_BYTES_MAX = 0xffff;
const STORED = 0;
const DEFLATED = 8;
const ENCRYPTED_FLAG = 1;

interface Entry {
  readonly path: string;
  readonly method: number;
  readonly packedBytes: number;
  readonly offset: number;
}

export function isZip(bytes: Uint8Array): boolean {
  return bytes.length >= 4 && [LOCAL, END].includes(viewOf(bytes).getUint32(0, true));
}

/** The archive's files, keyed by path. */
export async function readZip(bytes: Uint8Array<ArrayBuffer>): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  let left = totalBytesMax;
  for (const entry of entriesOf(bytes)) {
    if (entry.path.endsWith('/')) continue;
    if (files.has(entry.path)) throw new IntakeProblem(`The archive has ${entry.path} twice.`);
    const content = await contentOf(bytes, entry, left);
    left -= content.length;
    files.set(entry.path, content);
  }
  return files;
}

/** The entries in the central directory. */
function entriesOf(bytes: Uint8Array): Entry[] {
  const view = viewOf(bytes);
  const end = endOf(view);
  const count = view.getUint16(end + 10, true);
  if (count > entriesMax) throw new IntakeProblem(`The archive has more than ${entriesMax} files.`);
  const entries: Entry[] = [];
  let at = view.getUint32(end + 16, true);
  for (let index = 0; index < count; index++) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== CENTRAL) throw damaged();
    const nameBytes = view.getUint16(at + 28, true);
    if ((view.getUint16(at + 8, true) & ENCRYPTED_FLAG) !== 0) throw new IntakeProblem('The archive is encrypted.');
    entries.push({
      path: new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameBytes)),
      method: view.getUint16(at + 10, true),
      packedBytes: view.getUint32(at + 20, true),
      offset: view.getUint32(at + 42, true),
    });
    at += 46 + nameBytes + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return entries;
}

/** Where the end record begins. A comment may follow this record. */
function endOf(view: DataView): number {
  const last = view.byteLength - END_BYTES;
  for (let at = last; at >= Math.max(0, last - COMMENT_BYTES_MAX); at--) {
    if (view.getUint32(at, true) === END) return at;
  }
  throw damaged();
}

async function contentOf(bytes: Uint8Array<ArrayBuffer>, entry: Entry, left: number) {
  const { offset, method, packedBytes, path } = entry;
  const view = viewOf(bytes);
  if (offset + 30 > bytes.length || view.getUint32(offset, true) !== LOCAL) throw damaged();
  const start = offset + 30 + view.getUint16(offset + 26, true) + view.getUint16(offset + 28, true);
  const packed = bytes.subarray(start, start + packedBytes);
  if (packed.length !== packedBytes) throw damaged();
  if (method === DEFLATED) return await inflate(packed, 'deflate-raw', left);
  if (method !== STORED) throw new IntakeProblem(`${path} is packed in a way that this page does not know.`);
  if (packed.length > left) throw new IntakeProblem('The archive holds more than any export.');
  return packed;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function damaged(): IntakeProblem {
  return new IntakeProblem('The zip archive is damaged or cut off.');
}
