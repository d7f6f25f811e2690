/** Archives of an export, made as people make them. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';

type Files = ReadonlyMap<string, Uint8Array>;

/** A zip archive with every file deflated. */
export function zipOf(files: Files): Buffer {
  const parts: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const [path, bytes] of files) {
    const name = Buffer.from(path);
    const packed = deflateRawSync(bytes);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, name, packed]);
    const end = Buffer.alloc(14);
    end.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, end, name]));
    parts.push(local);
    offset += local.length;
  }
  const list = Buffer.concat(central);
  const tail = Buffer.alloc(22);
  tail.write('PK\x05\x06', 'latin1');
  tail.writeUInt16LE(files.size, 8);
  tail.writeUInt16LE(files.size, 10);
  tail.writeUInt32LE(list.length, 12);
  tail.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, list, tail]);
}

/** Writes the files into a directory that exists while the callback runs. */
export async function inDirectory<Result>(files: Files, use: (directory: string) => Promise<Result>): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), 'vouchbox-export-'));
  try {
    for (const [path, bytes] of files) {
      mkdirSync(dirname(join(directory, path)), { recursive: true });
      writeFileSync(join(directory, path), bytes);
    }
    return await use(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** A compressed tar archive of a directory, as `tar` makes it. */
export function tarOf(files: Files): Promise<Buffer> {
  return inDirectory(files, async (directory) =>
    execFileSync('tar', ['-czf', '-', '-C', dirname(directory), directory.slice(dirname(directory).length + 1)]),
  );
}
