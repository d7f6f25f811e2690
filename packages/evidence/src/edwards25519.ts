/**
 * Arithmetic on edwards25519, used to refuse public keys under which signatures prove nothing. It handles only public points. RFC
 * 8032 § 5.1.
 */

const P = 2n ** 255n - 19n;
const D = mod(-121665n * power(121666n, P - 2n));
const SQRT_MINUS_ONE = power(2n, (P - 1n) / 4n);
const SIGN_BIT = 1n << 255n;

/** A point in extended homogeneous coordinates: x = X/Z, y = Y/Z, xy = T/Z. */
interface Point {
  readonly X: bigint;
  readonly Y: bigint;
  readonly Z: bigint;
}

/**
 * Why 32 bytes are not a usable Ed25519 public key; null if they are. A point of small order is refused: anybody can make
 * signatures that verify under it, for almost any message and without a private key.
 */
export function publicPointProblem(bytes: Uint8Array): string | null {
  const encoded = littleEndian(bytes);
  const y = encoded & ~SIGN_BIT;
  if (y >= P) return 'its point is not canonically encoded';
  const x = recoverX(y, (encoded & SIGN_BIT) !== 0n);
  if (x === null) return 'its point is not on the curve';
  return isSmallOrder({ X: x, Y: y, Z: 1n }) ? 'its point has small order' : null;
}

/** The x of the point with this y and sign, or null if there is no such point. RFC 8032 § 5.1.3. */
function recoverX(y: bigint, isOdd: boolean): bigint | null {
  const square = mod((y * y - 1n) * power(mod(D * y * y + 1n), P - 2n));
  let x = power(square, (P + 3n) / 8n);
  if (mod(x * x - square) !== 0n) x = mod(x * SQRT_MINUS_ONE);
  if (mod(x * x - square) !== 0n) return null;
  if (x === 0n) return isOdd ? null : x;
  return (x & 1n) === (isOdd ? 1n : 0n) ? x : P - x;
}

/** Whether eight times the point is the identity: the curve's cofactor is 8. */
function isSmallOrder(point: Point): boolean {
  const { X, Y, Z } = double(double(double(point)));
  return X === 0n && Y === Z;
}

/** Doubles a point. Doubling does not read T, so T is left out. RFC 8032 § 5.1.4. */
function double({ X, Y, Z }: Point): Point {
  const a = X * X;
  const b = Y * Y;
  const h = a + b;
  const e = h - (X + Y) ** 2n;
  const g = a - b;
  const f = 2n * Z * Z + g;
  return { X: mod(e * f), Y: mod(g * h), Z: mod(f * g) };
}

function mod(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let square = mod(base), rest = exponent; rest > 0n; square = mod(square * square), rest >>= 1n) {
    if (rest & 1n) result = mod(result * square);
  }
  return result;
}

function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);
}
