// Unpacks a job's libraries in its cell, before the program, as the program's user and within the limits of the job. Nobody else
// ever reads the archive, and nothing in it is trusted. `unpack.py` does the same for Python.
'use strict';
const fs = require('node:fs');
const { pipeline } = require('node:stream');
const { createGunzip } = require('node:zlib');

const BYTES_MAX = 512 * 1024 * 1024;
const ENTRIES_MAX = 50_000;
const NAME_BYTES_MAX = 64 * 1024;
const BLOCK = 512;
const PAGE = 4096;
const MODULES = 'node_modules';

/** The archive cannot be unpacked. */
class Unfit extends Error {}

/** How many bytes the last unit lacks. */
const restOf = (size, unit) => (unit - (size % unit)) % unit;

/** Reads a stream in parts of the size that the caller asks for. */
class Packed {
  #pieces;
  #piece = Buffer.alloc(0);

  constructor(stream) {
    this.#pieces = stream[Symbol.asyncIterator]();
  }

  /** Returns at least one byte and at most `size` bytes; none at the end. */
  async some(size) {
    while (this.#piece.length === 0) {
      const { done, value } = await this.#pieces.next();
      if (done) break;
      this.#piece = value;
    }
    const piece = this.#piece.subarray(0, size);
    this.#piece = this.#piece.subarray(piece.length);
    return piece;
  }

  /** Returns `size` bytes; fewer at the end. */
  async read(size) {
    const pieces = [];
    for (let left = size; left > 0; left -= pieces.at(-1).length) {
      const piece = await this.some(left);
      if (piece.length === 0) break;
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  }
}

function numberIn(field) {
  const text = field.toString('latin1').replace(/^[ \0]+|[ \0]+$/g, '');
  if (!/^[0-7]*$/.test(text)) throw new Unfit('it is no tar archive');
  return Number.parseInt(text || '0', 8);
}

const upToNul = (field) => field.subarray(0, [...field, 0].indexOf(0)).toString('latin1');

/** Reads exactly `size` bytes, and skips the rest of their last block. */
async function whole(packed, size) {
  const content = await packed.read(size);
  const rest = restOf(size, BLOCK);
  if (content.length < size || (await packed.read(rest)).length < rest) throw new Unfit('it ends too early');
  return content;
}

const isZero = (bytes) => bytes.every((byte) => byte === 0);

/** Two blocks of zeros end a tar archive; some packers write more. Reading to the end also checks gzip's checksum. */
async function expectEnd(packed) {
  for (let rest = await whole(packed, BLOCK); rest.length > 0; rest = await packed.some(BYTES_MAX))
    if (!isZero(rest)) throw new Unfit('it goes on after its end');
}

/** The path that a header of pax(1) names, if it names one. */
function pathIn(records) {
  let path;
  for (let left = records.toString('latin1'); left !== ''; ) {
    const [, length, name, value] = /^(\d+) ([^=]*)=(.*)$/s.exec(left) ?? [];
    if (!(Number(length) >= 5) || name === 'size') throw new Unfit('it has a header that this service does not read');
    const before = length.length + 1 + name.length + 1;
    if (name === 'path') path = value.slice(0, Number(length) - before - 1);
    left = left.slice(Number(length));
  }
  return path;
}

/** Yields each header as kind, name, mode and size. The caller reads an entry's content before it takes the next header. */
async function* entries(packed) {
  let named;
  for (;;) {
    const header = await whole(packed, BLOCK);
    if (isZero(header)) return expectEnd(packed);
    const sum = header.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
    if (sum !== numberIn(header.subarray(148, 156))) throw new Unfit('it is no tar archive');
    const kind = header.toString('latin1', 156, 157);
    const size = numberIn(header.subarray(124, 136));
    if ('xgL'.includes(kind)) {
      if (size > NAME_BYTES_MAX) throw new Unfit('it has a name that is too long');
      const text = await whole(packed, size);
      if (kind === 'L') named = upToNul(text);
      else if (kind === 'x') named = pathIn(text) ?? named;
      continue;
    }
    const isUstar = header.toString('latin1', 257, 263) === 'ustar\0' && header[345] !== 0;
    const prefix = isUstar ? `${upToNul(header.subarray(345, 500))}/` : '';
    const name = named ?? prefix + upToNul(header.subarray(0, 100));
    named = undefined;
    yield { kind, name, mode: numberIn(header.subarray(100, 108)), size };
  }
}

const shown = (name) => JSON.stringify(Buffer.from(name, 'latin1').toString());

function partsOf(name) {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (name.startsWith('/') || parts.includes('..') || name.includes('\0'))
    throw new Unfit(`${shown(name)} is not below the archive's root`);
  return parts;
}

/** The bytes of a path. Each character stands for one byte. */
const bytesOf = (path) => Buffer.from(path, 'latin1');

function makeDirectories(place, parts, made) {
  return parts.reduce((parent, part) => {
    const directory = `${parent}/${part}`;
    if (made.has(directory)) return directory;
    try {
      fs.mkdirSync(bytesOf(directory), 0o755);
    } catch (error) {
      if (error.code !== 'EEXIST' || !fs.lstatSync(bytesOf(directory)).isDirectory()) throw error;
    }
    made.add(directory);
    return directory;
  }, place);
}

async function writeFile(path, mode, size, packed) {
  const file = fs.openSync(bytesOf(path), 'wx', (mode & 0o111) === 0 ? 0o644 : 0o755);
  try {
    for (let left = size; left > 0; ) {
      const piece = await packed.some(left);
      if (piece.length === 0) throw new Unfit('it ends too early');
      left -= piece.length;
      for (let at = 0; at < piece.length; ) at += fs.writeSync(file, piece, at);
    }
  } finally {
    fs.closeSync(file);
  }
  await packed.read(restOf(size, BLOCK));
}

async function unpack(archive, place) {
  const gunzip = createGunzip();
  const packed = new Packed(pipeline(fs.createReadStream(archive), gunzip, () => {}));
  const made = new Set();
  let [count, total] = [0, 0];
  for await (const { kind, name, mode, size } of entries(packed)) {
    count += 1;
    total += size + restOf(size, PAGE);
    const parts = partsOf(name);
    if (count > ENTRIES_MAX || total > BYTES_MAX)
      throw new Unfit(`it has more than ${ENTRIES_MAX} entries or ${BYTES_MAX} bytes in pages of ${PAGE}`);
    if (kind === '5') makeDirectories(place, parts, made);
    else if (!'0\0'.includes(kind) || parts.length === 0)
      throw new Unfit(`${shown(name)} is neither a file nor a directory`);
    else await writeFile(`${makeDirectories(place, parts.slice(0, -1), made)}/${parts.at(-1)}`, mode, size, packed);
  }
  if (count === 0) throw new Unfit('it is empty');
  // Node stops at zeros after the gzip data, whatever follows those zeros.
  for await (const rest of fs.createReadStream(archive, { start: gunzip.bytesWritten }))
    if (!isZero(rest)) throw new Unfit('it goes on after its end');
}

/** Starts the threads for unpacking while the cell still waits, so that they are counted when its limits are set. */
exports.prepare = () => fs.access('/', () => {});

/**
 * Unpacks the libraries into a directory with the name that packages expect, so that they find one another. A link beside the
 * program leads to the directory.
 */
exports.offer = async (archive, place, work) => {
  try {
    fs.mkdirSync(`${place}/${MODULES}`);
    await unpack(archive, `${place}/${MODULES}`);
    fs.symlinkSync(`${place}/${MODULES}`, `${work}/${MODULES}`);
  } catch (error) {
    const reason = error instanceof Unfit ? error.message : String(error);
    fs.writeSync(2, `The libraries cannot be unpacked: ${reason.slice(0, 500)}\n`);
    process.exit(1);
  }
};
