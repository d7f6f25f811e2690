/** Reads tar archives: ustar, and the long names of GNU and pax. POSIX.1-2017, pax, ustar Interchange Format. */
import { entriesMax, IntakeProblem } from './bounds.ts';

const BLOCK = 512;
const text = new TextDecoder();

export function isTar(bytes: Uint8Array): boolean {
  return bytes.length >= BLOCK && text.decode(bytes.subarray(257, 262)) === 'ustar';
}

/** The archive's files, keyed by path. Links and other special files are refused, because no export has any. */
export function readTar(bytes: Uint8Array<ArrayBuffer>): Map<string, Uint8Array<ArrayBuffer>> {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  let longPath: string | null = null;
  let entries = 0;
  for (let at = 0; at + BLOCK <= bytes.length && bytes[at] !== 0; ) {
    if (++entries > entriesMax) throw new IntakeProblem(`The archive has more than ${entriesMax} files.`);
    const head = bytes.subarray(at, at + BLOCK);
    const size = sizeOf(head);
    const content = bytes.subarray(at + BLOCK, at + BLOCK + size);
    if (content.length !== size) throw new IntakeProblem('The tar archive is damaged or cut off.');
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    const type = String.fromCharCode(head[156] ?? 0);
    if (type === 'L') longPath = field(content, 0, size);
    else if (type === 'x') longPath = paxPath(content) ?? longPath;
    else if (type !== 'g') {
      const path = longPath ?? shortPath(head);
      longPath = null;
      addEntry(files, { type, path, content });
    }
  }
  return files;
}

function addEntry(
  files: Map<string, Uint8Array<ArrayBuffer>>,
  { type, path, content }: { type: string; path: string; content: Uint8Array<ArrayBuffer> },
): void {
  if (type === '5') return;
  if (type !== '0' && type !== '\0') throw new IntakeProblem(`${path} in the archive is not a plain file.`);
  if (files.has(path)) throw new IntakeProblem(`The archive has ${path} twice.`);
  files.set(path, content);
}

/** The size in a header: octal digits, up to a space or a NUL. */
function sizeOf(head: Uint8Array): number {
  const digits = field(head, 124, 12).trim();
  if (!/^[0-7]+$/.test(digits)) throw new IntakeProblem('The tar archive is damaged.');
  return Number.parseInt(digits, 8);
}

function shortPath(head: Uint8Array): string {
  const prefix = field(head, 345, 155);
  const name = field(head, 0, 100);
  return prefix === '' ? name : `${prefix}/${name}`;
}

/** The path in pax records. Each record is `LENGTH KEY=VALUE` and a line feed. */
function paxPath(content: Uint8Array): string | null {
  return /^\d+ path=(.*)$/m.exec(text.decode(content))?.[1] ?? null;
}

function field(bytes: Uint8Array, start: number, length: number): string {
  const whole = text.decode(bytes.subarray(start, start + length));
  return whole.split('\0', 1)[0] ?? '';
}
