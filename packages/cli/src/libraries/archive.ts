/** Packs a directory of packages into an archive that a cell can unpack: tar(5) in gzip. Equal files give equal bytes. */
import { createReadStream, createWriteStream, type Dirent, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { librariesBytesMax, librariesEntriesMax } from '@vouchbox/protocol/vocabulary';
import { UsageError } from '../failures/usage-error.ts';

const BLOCK = 512;
const PAGE = 4096;
const NAME_BYTES_MAX = 100;
const LAST = Buffer.alloc(2 * BLOCK);

interface Found {
  /** The path below the root. */
  readonly path: string;
  readonly kind: 'file' | 'directory';
  readonly mode: number;
  readonly size: number;
}

/**
 * Writes the archive into a new file.
 * @throws UsageError if there are no packages, or more than a cell would unpack
 */
export async function writeArchive(root: string, file: string): Promise<void> {
  const found = [...below(root)];
  const bytes = found.reduce((sum, { size }) => sum + size + restOf(size, PAGE), 0);
  if (found.length === 0) throw new UsageError('there are no packages');
  if (found.length > librariesEntriesMax || bytes > librariesBytesMax) {
    const most = `a cell unpacks at most ${librariesEntriesMax} of them, and ${librariesBytesMax} bytes`;
    throw new UsageError(`the packages have ${found.length} files and directories and ${bytes} bytes; ${most}`);
  }
  await pipeline(entries(root, found), createGzip({ level: 9 }), createWriteStream(file, { flags: 'wx' }));
}

/** Every file and directory below the root, in a fixed order, parents first. */
function* below(root: string, path = ''): Generator<Found> {
  const named = readdirSync(join(root, path), { withFileTypes: true });
  for (const entry of named.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const found = foundAt(root, join(path, entry.name), entry);
    yield found;
    if (found.kind === 'directory') yield* below(root, found.path);
  }
}

function foundAt(root: string, path: string, entry: Dirent): Found {
  const { mode, size } = lstatSync(join(root, path));
  if (entry.isDirectory()) return { path, kind: 'directory', mode: 0o755, size: 0 };
  if (entry.isFile()) return { path, kind: 'file', mode: (mode & 0o111) === 0 ? 0o644 : 0o755, size };
  throw new UsageError(`${path} is neither a file nor a directory, and a cell unpacks only these`);
}

async function* entries(root: string, found: readonly Found[]): AsyncGenerator<Uint8Array> {
  for (const { path, kind, mode, size } of found) {
    const name = Buffer.from(kind === 'directory' ? `${path}/` : path);
    if (name.length > NAME_BYTES_MAX) yield* longName(name);
    yield header(name, { kind: kind === 'directory' ? '5' : '0', mode, size });
    if (kind === 'directory') continue;
    let left = size;
    for await (const piece of createReadStream(join(root, path)) as AsyncIterable<Buffer>) {
      left -= piece.length;
      yield piece;
    }
    if (left !== 0) throw new UsageError(`${path} changed while it was read`);
    yield Buffer.alloc(restOf(size, BLOCK));
  }
  yield LAST;
}

/** A long name in the form of GNU tar. */
function* longName(name: Buffer): Generator<Uint8Array> {
  const size = name.length + 1;
  yield header(Buffer.from('././@LongLink'), { kind: 'L', mode: 0o644, size });
  yield Buffer.concat([name, Buffer.alloc(1 + restOf(size, BLOCK))]);
}

function header(
  name: Buffer,
  { kind, mode, size }: { readonly kind: string; readonly mode: number; readonly size: number },
) {
  const block = Buffer.alloc(BLOCK);
  name.copy(block, 0, 0, NAME_BYTES_MAX);
  const octal = (value: number, at: number, length: number) =>
    block.write(value.toString(8).padStart(length - 1, '0'), at);
  octal(mode, 100, 8);
  for (const at of [108, 116]) octal(0, at, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  block.write(`        ${kind}`, 148);
  block.write('ustar\0' + '00', 257);
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return block;
}

function restOf(size: number, unit: number): number {
  return (unit - (size % unit)) % unit;
}
