/**
 * SHA-256 (FIPS 180-4) for a browser page, which has no Node. WebCrypto cannot replace it: it is asynchronous, and
 * missing from pages that are served without TLS. It digests public data only, so timing does not matter.
 */

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const ROUND_CONSTANTS = Uint32Array.from(firstPrimes(64), (prime) => fractionBits(Math.cbrt(prime)));
/** The first 32 bits of the fractional parts of the square roots of the first 8 primes. */
const INITIAL_STATE = Uint32Array.from(firstPrimes(8), (prime) => fractionBits(Math.sqrt(prime)));

const BLOCK_BYTES = 64;
const LENGTH_BYTES = 8;

/** SHA-256 as 64 lower-case hex digits; a string is digested as its UTF-8. */
export function sha256Hex(data: string | Uint8Array): string {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  const state = INITIAL_STATE.slice();
  const schedule = new Uint32Array(64);
  const wholeBytes = bytes.length - (bytes.length % BLOCK_BYTES);
  absorb(state, schedule, bytes.subarray(0, wholeBytes));
  absorb(state, schedule, paddedTail(bytes.subarray(wholeBytes), bytes.length));
  return Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('');
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
