/**
 * Parses all JSON from outside: request bodies and parts of tokens. It is stricter than `JSON.parse`: it refuses a byte
 * order mark, bytes that are not UTF-8, and everything that `JsonScan` refuses. RFC 8259, RFC 7493.
 */
import { isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { JsonProblem, JsonScan } from '@vouchbox/evidence';
import { jsonTokensMax } from '@vouchbox/protocol';
import { ServiceError } from './service-error.ts';

/** How many bytes are scanned before the process's other work gets a turn. */
const pauseBytes = 1024 * 1024;

export interface StrictJsonOptions {
  /**
   * A top-level member whose own members may be numbers that a double cannot represent. Each such number becomes the nearest
   * double, or the largest double of its sign. A ceiling clamps it in any case.
   */
  readonly approximateIn?: string;
  /** The most tokens. Default: the bound of every body. */
  readonly tokensMax?: number;
}

/**
 * Parses the one strict JSON value in `bytes`, with only white space around it. `__proto__` is a name like any other and
 * becomes an own member.
 *
 * @throws ServiceError `invalid_json`, naming the byte or the JSON pointer
 */
export async function parseStrictJson(bytes: Buffer, options: StrictJsonOptions = {}): Promise<unknown> {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
    throw invalid('starts with a byte order mark', 'byte 0');
  if (!isUtf8(bytes)) throw invalid('is not UTF-8', `byte ${firstBadByte(bytes)}`);
  const scan = new JsonScan(bytes, { tokensMax: jsonTokensMax, numbers: 'exact', ...options });
  while (!runUntilPause(scan)) await setImmediate();
  const text = bytes.toString('utf8');
  return (scan.isFinite ? JSON.parse(text) : JSON.parse(text, madeFinite)) as unknown;
}

function runUntilPause(scan: JsonScan): boolean {
  try {
    return scan.run(pauseBytes);
  } catch (error) {
    throw error instanceof JsonProblem ? invalid(error.problem, error.place) : error;
  }
}

/** `JSON.parse` turns a number above the largest double into infinity. This turns it into the largest double. */
function madeFinite(_name: string, value: unknown): unknown {
  if (value === Number.POSITIVE_INFINITY) return Number.MAX_VALUE;
  return value === Number.NEGATIVE_INFINITY ? -Number.MAX_VALUE : value;
}

function invalid(problem: string, place: string): ServiceError {
  return new ServiceError('invalid_json', `The body ${problem} at ${place}.`);
}

/** The offset of the first sequence that is not UTF-8. The bytes must contain such a sequence. */
function firstBadByte(bytes: Buffer): number {
  let good = 0;
  let end = bytes.length;
  while (end - good > 8) {
    const middle = (good + end) >>> 1;
    const goodEnd = [middle, middle - 1, middle - 2, middle - 3].find((cut) => isUtf8(bytes.subarray(good, cut)));
    if (goodEnd === undefined) end = middle;
    else good = goodEnd;
  }
  for (;;) {
    const next = [1, 2, 3, 4].find(
      (length) => good + length <= bytes.length && isUtf8(bytes.subarray(good, good + length)),
    );
    if (next === undefined) return good;
    good += next;
  }
}
