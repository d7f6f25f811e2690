/**
 * SHA-256 (FIPS 180-4) for a browser page, which has no Node. WebCrypto cannot replace it: it is asynchronous, takes no
 * bytes in pieces, and is missing from pages that are served without TLS. It digests public data only, so timing does
 * not matter.
 */
import type { RunningSha256 } from './running-sha256.ts';

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const ROUND_CONSTANTS = Uint32Array.from(firstPrimes(64), (prime) => fractionBits(Math.cbrt(prime)));
/** The first 32 bits of the fractional parts of the square roots of the first 8 primes. */
const INITIAL_STATE = Uint32Array.from(firstPrimes(8), (prime) => fractionBits(Math.sqrt(prime)));

const BLOCK_BYTES = 64;
const LENGTH_BYTES = 8;

/** SHA-256 as 64 lower-case hex digits; a string is digested as its UTF-8. */
export function sha256Hex(data: string | Uint8Array): string {
  const running = new PortableSha256();
  running.update(typeof data === 'string' ? new TextEncoder().encode(data) : data);
  return running.hex();
}

/** SHA-256 of bytes that come in pieces. */
export function runningSha256(): RunningSha256 {
  return new PortableSha256();
}

class PortableSha256 implements RunningSha256 {
  readonly #state = INITIAL_STATE.slice();
  readonly #schedule = new Uint32Array(64);
  /** The beginning of a block whose end did not come yet. */
  readonly #begun = new Uint8Array(BLOCK_BYTES);
  #begunBytes = 0;
  #bytes = 0;

  update(piece: Uint8Array): void {
    this.#bytes += piece.length;
    const rest = this.#begunBytes > 0 ? this.#complete(piece) : piece;
    const wholeBytes = rest.length - (rest.length % BLOCK_BYTES);
    absorb(this.#state, this.#schedule, rest.subarray(0, wholeBytes));
    this.#begin(rest.subarray(wholeBytes));
  }

  hex(): string {
    absorb(this.#state, this.#schedule, paddedTail(this.#begun.subarray(0, this.#begunBytes), this.#bytes));
    return Array.from(this.#state, (word) => word.toString(16).padStart(8, '0')).join('');
  }

  /** Adds to the block that was begun, absorbs it if it is whole, and returns what is left of the piece. */
  #complete(piece: Uint8Array): Uint8Array {
    const taken = piece.subarray(0, BLOCK_BYTES - this.#begunBytes);
    this.#begin(taken);
    if (this.#begunBytes === BLOCK_BYTES) {
      absorb(this.#state, this.#schedule, this.#begun);
      this.#begunBytes = 0;
    }
    return piece.subarray(taken.length);
  }

  #begin(bytes: Uint8Array): void {
    this.#begun.set(bytes, this.#begunBytes);
    this.#begunBytes += bytes.length;
  }
}

/** The last, incomplete block with its `1` bit, zeros, and the message's length in bits. FIPS 180-4 § 5.1.1. */
function paddedTail(tail: Uint8Array, messageBytes: number): Uint8Array {
  const blocks = tail.length + 1 + LENGTH_BYTES > BLOCK_BYTES ? 2 : 1;
  const padded = new Uint8Array(blocks * BLOCK_BYTES);
  padded.set(tail);
  padded[tail.length] = 0x80;
  new DataView(padded.buffer).setBigUint64(padded.length - LENGTH_BYTES, BigInt(messageBytes) * 8n);
  return padded;
}

/** Compresses whole blocks into the state. FIPS 180-4 § 6.2.2. */
function absorb(state: Uint32Array, schedule: Uint32Array, blocks: Uint8Array): void {
  const view = new DataView(blocks.buffer, blocks.byteOffset, blocks.byteLength);
  for (let offset = 0; offset < blocks.length; offset += BLOCK_BYTES) {
    expand(schedule, view, offset);
    compress(state, schedule);
  }
}

function expand(schedule: Uint32Array, view: DataView, offset: number): void {
  for (let t = 0; t < 16; t++) schedule[t] = view.getUint32(offset + t * 4);
  for (let t = 16; t < 64; t++) {
    const w15 = word(schedule, t - 15);
    const w2 = word(schedule, t - 2);
    const sigma0 = rotate(w15, 7) ^ rotate(w15, 18) ^ (w15 >>> 3);
    const sigma1 = rotate(w2, 17) ^ rotate(w2, 19) ^ (w2 >>> 10);
    schedule[t] = word(schedule, t - 16) + sigma0 + word(schedule, t - 7) + sigma1;
  }
}

function compress(state: Uint32Array, schedule: Uint32Array): void {
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let t = 0; t < 64; t++) {
    const sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const choice = (e & f) ^ (~e & g);
    const first = (h + sum1 + choice + word(ROUND_CONSTANTS, t) + word(schedule, t)) | 0;
    const sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + sum0 + majority) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((value, index) => {
    state[index] = word(state, index) + value;
  });
}

function rotate(value: number, bits: number): number {
  return (value >>> bits) | (value << (32 - bits));
}

function word(words: Uint32Array, index: number): number {
  return words[index] as number;
}

function fractionBits(value: number): number {
  return Math.floor((value % 1) * 2 ** 32);
}

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let candidate = 2; primes.length < count; candidate++) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes;
}
