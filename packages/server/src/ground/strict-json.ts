/**
 * The only way JSON from outside becomes a value: bodies of requests, parts of tokens. Stricter than `JSON.parse` where
 * leniency hides something: a byte order mark, bytes that are not UTF-8, a member named twice, a lone surrogate, a
 * number that a double cannot hold. Nesting and tokens are counted before anything is built, because `JSON.parse` takes
 * seconds over hostile nesting. RFC 8259, RFC 7493.
 */
import { isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { jsonDepthMax, jsonTokensMax } from '@svc/protocol';
import { ServiceError } from './service-error.ts';

/** Longer than any number a client has a use for. */
export const numberBytesMax = 1024;

/** How much is scanned before other work of the process gets a turn. */
const pauseBytes = 1024 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const ARRAY_OPEN = 0x5b;
const BACKSLASH = 0x5c;
const ARRAY_CLOSE = 0x5d;
const LETTER_U = 0x75;
const OBJECT_OPEN = 0x7b;
const OBJECT_CLOSE = 0x7d;

const NUMBER = /^-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

export interface StrictJsonOptions {
  /**
   * The top-level member whose own members may be numbers that a double cannot hold: each becomes the nearest double, or
   * the largest one of its sign. For numbers that are brought down to a bound anyway.
   */
  readonly approximateIn?: string;
}

/**
 * Parses one strict JSON value, alone in `bytes` but for white space. A token is a name, a scalar value, or the opening
 * of an object or an array. `__proto__` is a name like any other and becomes an own member.
 *
 * @throws ServiceError `invalid_json`, saying at which byte or JSON pointer.
 */
export async function parseStrictJson(bytes: Buffer, options: StrictJsonOptions = {}): Promise<unknown> {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw invalid('starts with a byte order mark', 0);
  if (!isUtf8(bytes)) throw invalid('is not UTF-8', firstBadByte(bytes));
  const scan = new Scan(bytes, options.approximateIn ?? null);
  while (!scan.runUntilPause()) await setImmediate();
  const text = bytes.toString('utf8');
  return (scan.isFinite ? JSON.parse(text) : JSON.parse(text, madeFinite)) as unknown;
}

/** `JSON.parse` makes an infinity of a number past the largest double; here it becomes that largest double. */
function madeFinite(_name: string, value: unknown): unknown {
  if (value === Number.POSITIVE_INFINITY) return Number.MAX_VALUE;
  return value === Number.NEGATIVE_INFINITY ? -Number.MAX_VALUE : value;
}

/** An object or array that is open: the names it has so far (none in an array), and the member being read. */
interface Frame {
  readonly names: Set<string> | null;
  member: string | number;
}

/** What may come next, white space aside. */
type Expectation =
  | 'value'
  | 'value or ]'
  | 'name'
  | 'name or }'
  | 'colon'
  | 'comma or close'
  | 'rest of string'
  | 'end';

/** One pass over the bytes in short steps. It builds only names, which it needs to tell duplicates. */
class Scan {
  readonly #bytes: Buffer;
  readonly #open: Frame[] = [];
  /** See `StrictJsonOptions`. */
  readonly #approximateIn: string | null;
  #expects: Expectation = 'value';
  #at = 0;
  #pauseAt = 0;
  #tokens = 0;
  /** Where the string that is being read began. */
  #stringStart = 0;
  /** Whether that string names a member. */
  #stringIsName = false;
  #isFinite = true;

  constructor(bytes: Buffer, approximateIn: string | null) {
    this.#bytes = bytes;
    this.#approximateIn = approximateIn;
  }

  /** Whether every number that was read is within the range of a double. */
  get isFinite(): boolean {
    return this.#isFinite;
  }

  /** Reads on for a while; true once everything was read. */
  runUntilPause(): boolean {
    this.#pauseAt = this.#at + pauseBytes;
    while (this.#at < this.#pauseAt) {
      this.#skipSpace();
      if (this.#at === this.#bytes.length && this.#expects === 'end') return true;
      if (this.#at < this.#pauseAt) this.#step(this.#bytes[this.#at]);
    }
    return false;
  }

  #step(byte: number | undefined): void {
    switch (this.#expects) {
      case 'rest of string':
        this.#readString();
        break;
      case 'value or ]':
        if (byte === ARRAY_CLOSE) this.#closeFrame();
        else this.#startValue(byte);
        break;
      case 'value':
        this.#startValue(byte);
        break;
      case 'name or }':
        if (byte === OBJECT_CLOSE) this.#closeFrame();
        else this.#startName(byte);
        break;
      case 'name':
        this.#startName(byte);
        break;
      case 'colon':
        this.#take(byte === COLON, 'value');
        break;
      case 'comma or close':
        this.#startNextMember(byte, this.#open.at(-1) as Frame);
        break;
      case 'end':
        throw this.#unexpected();
      default:
        this.#expects satisfies never;
    }
  }

  #take(isExpected: boolean, next: Expectation): void {
    if (!isExpected) throw this.#unexpected();
    this.#at += 1;
    this.#expects = next;
  }

  #startValue(byte: number | undefined): void {
    this.#countToken();
    if (byte === QUOTE) this.#startString(false);
    else if (byte === OBJECT_OPEN) this.#openFrame({ names: new Set(), member: '' }, 'name or }');
    else if (byte === ARRAY_OPEN) this.#openFrame({ names: null, member: 0 }, 'value or ]');
    else this.#readScalar();
  }

  #startName(byte: number | undefined): void {
    if (byte !== QUOTE) throw this.#unexpected();
    this.#countToken();
    this.#startString(true);
  }

  #startNextMember(byte: number | undefined, frame: Frame): void {
    if (byte === (frame.names === null ? ARRAY_CLOSE : OBJECT_CLOSE)) {
      this.#closeFrame();
      return;
    }
    this.#take(byte === COMMA, frame.names === null ? 'value' : 'name');
    if (typeof frame.member === 'number') frame.member += 1;
  }

  #openFrame(frame: Frame, expects: Expectation): void {
    if (this.#open.length === jsonDepthMax) throw this.#wrong(`nests deeper than ${jsonDepthMax}`);
    this.#open.push(frame);
    this.#at += 1;
    this.#expects = expects;
  }

  #closeFrame(): void {
    this.#open.pop();
    this.#at += 1;
    this.#endValue();
  }

  #endValue(): void {
    this.#expects = this.#open.length === 0 ? 'end' : 'comma or close';
  }

  #startString(isName: boolean): void {
    this.#stringStart = this.#at;
    this.#stringIsName = isName;
    this.#at += 1;
    this.#expects = 'rest of string';
  }

  #readString(): void {
    const bytes = this.#bytes;
    const pauseAt = this.#pauseAt;
    let at = this.#at;
    while (at < pauseAt) {
      const byte = bytes[at];
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) at = this.#escapeEnd(at);
      else if (byte === undefined || byte < 0x20) throw this.#unexpected(at);
      else at += 1;
    }
    this.#at = at;
    if (at < pauseAt) this.#endString();
  }

  #endString(): void {
    this.#at += 1;
    if (this.#stringIsName) this.#endName(this.#open.at(-1) as Frame);
    else this.#endValue();
  }

  #endName(frame: Frame): void {
    const name = JSON.parse(this.#bytes.toString('utf8', this.#stringStart, this.#at)) as string;
    frame.member = name;
    if (frame.names?.has(name)) throw this.#wrong('names a member twice');
    frame.names?.add(name);
    this.#expects = 'colon';
  }

  /** Where the escape at `at` ends. A surrogate is read together with the other half of its pair. */
  #escapeEnd(at: number): number {
    const kind = this.#bytes[at + 1];
    if (kind !== LETTER_U) {
      if (kind === undefined || !'"\\/bfnrt'.includes(String.fromCharCode(kind))) throw this.#unexpected(at + 1);
      return at + 2;
    }
    const unit = this.#hexUnit(at + 2);
    if (unit < 0xd800 || unit > 0xdfff) return at + 6;
    const hasSecond = unit < 0xdc00 && this.#bytes[at + 6] === BACKSLASH && this.#bytes[at + 7] === LETTER_U;
    const second = hasSecond ? this.#hexUnit(at + 8) : 0;
    if (second < 0xdc00 || second > 0xdfff) throw this.#wrong('holds a lone surrogate');
    return at + 12;
  }

  #hexUnit(at: number): number {
    let unit = 0;
    for (let index = at; index < at + 4; index += 1) {
      const digit = hexDigit(this.#bytes[index]);
      if (digit < 0) throw this.#unexpected(index);
      unit = unit * 16 + digit;
    }
    return unit;
  }

  #readScalar(): void {
    let end = this.#at;
    while (isScalarByte(this.#bytes[end])) end += 1;
    if (end === this.#at) throw this.#unexpected();
    if (end - this.#at > numberBytesMax) throw invalid('holds a number that is too long', this.#at);
    const text = this.#bytes.toString('latin1', this.#at, end);
    if (text !== 'true' && text !== 'false' && text !== 'null') this.#checkNumber(text);
    this.#at = end;
    this.#endValue();
  }

  #checkNumber(text: string): void {
    const match = NUMBER.exec(text);
    if (match === null) throw this.#unexpected();
    const value = Number(text);
    const isInteger = match[1] === undefined && match[2] === undefined;
    const isHeld = Number.isFinite(value) && (!isInteger || isWrittenFor(value, text));
    if (!isHeld && !this.#mayApproximate()) throw this.#wrong('holds a number that a double cannot hold');
    if (!Number.isFinite(value)) this.#isFinite = false;
  }

  #mayApproximate(): boolean {
    const [top, holder] = this.#open;
    return this.#open.length === 2 && top?.member === this.#approximateIn && holder?.names !== null;
  }

  #skipSpace(): void {
    if (this.#expects === 'rest of string') return;
    while (this.#at < this.#pauseAt && isSpace(this.#bytes[this.#at])) this.#at += 1;
  }

  #countToken(): void {
    this.#tokens += 1;
    if (this.#tokens > jsonTokensMax) throw invalid(`holds more than ${jsonTokensMax} tokens`, this.#at);
  }

  #unexpected(at = this.#at): ServiceError {
    return invalid(at < this.#bytes.length ? 'is not JSON' : 'ends before its value does', at);
  }

  /** A fault of a member that is well-formed: named by its JSON pointer. */
  #wrong(fault: string): ServiceError {
    const pointer = this.#open.map((frame) => `/${pointerToken(String(frame.member))}`).join('');
    return new ServiceError('invalid_json', `The body ${fault} at "${pointer}".`);
  }
}

/** Whether an integer's text is its double exactly, or what that double is itself written as. */
function isWrittenFor(value: number, text: string): boolean {
  return Number.isSafeInteger(value) || String(value) === text || BigInt(value) === BigInt(text);
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** Bytes of numbers and of `true`, `false`, `null`. */
function isScalarByte(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const isDigit = byte >= 0x30 && byte <= 0x39;
  const isLetter = (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
  return isDigit || isLetter || byte === 0x2b || byte === 0x2d || byte === 0x2e;
}

/** RFC 6901 § 3. */
function pointerToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function invalid(fault: string, at: number): ServiceError {
  return new ServiceError('invalid_json', `The body ${fault} at byte ${at}.`);
}

/** The offset of the first sequence that is not UTF-8; the bytes are known to hold one. */
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
