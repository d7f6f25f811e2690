/**
 * Scans the bytes of one JSON text and refuses what two readers could understand differently: a member named twice, a lone
 * surrogate, a number that a double cannot hold. Nesting and tokens are counted before anything is built, because `JSON.parse`
 * takes seconds on hostile nesting. RFC 8259, RFC 7493.
 */
import { jsonDepthMax } from '@vouchbox/protocol/vocabulary';

/** The most bytes of one number. No useful number is so long. */
export const numberBytesMax = 1024;

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

const utf8 = new TextDecoder();

export interface JsonRules {
  /** The most tokens. A token is a name, a scalar value, or the opening of an object or an array. */
  readonly tokensMax: number;
  /** `rounded` allows integers that a double cannot hold exactly. Neither value allows integers beyond a double's range. */
  readonly numbers: 'exact' | 'rounded';
  /**
   * The top-level member whose own members may be numbers that a double cannot hold. Such numbers are clamped to a bound anyway.
   * `isFinite` then says whether all numbers were within a double's range.
   */
  readonly approximateIn?: string;
}

/** What is wrong with a text, and where. */
export class JsonProblem extends Error {
  /** What is wrong, in words that follow "the text", as in "is not JSON". */
  readonly problem: string;
  /** Where: "byte 12" in a text that violates the grammar, otherwise the quoted JSON pointer of a member. RFC 6901. */
  readonly place: string;

  constructor(problem: string, place: string) {
    super(`${problem} at ${place}`);
    this.name = 'JsonProblem';
    this.problem = problem;
    this.place = place;
  }
}

/** An open object or array: its names so far (null for an array), and the member being read. */
interface Frame {
  readonly names: Set<string> | null;
  member: string | number;
}

/** The tokens that may come next, apart from white space. */
type Expectation =
  | 'value'
  | 'value or ]'
  | 'name'
  | 'name or }'
  | 'colon'
  | 'comma or close'
  | 'rest of string'
  | 'end';

/** One pass over the bytes, in steps if need be. It builds only the names, to find duplicates. */
export class JsonScan {
  readonly #bytes: Uint8Array;
  readonly #open: Frame[] = [];
  readonly #rules: JsonRules;
  #expects: Expectation = 'value';
  #at = 0;
  #pauseAt = 0;
  #tokens = 0;
  /** Where the string that is being read began. */
  #stringStart = 0;
  /** Whether that string names a member. */
  #stringIsName = false;
  #isFinite = true;

  /** @param bytes must be UTF-8 without a byte order mark; the caller has checked this */
  constructor(bytes: Uint8Array, rules: JsonRules) {
    this.#bytes = bytes;
    this.#rules = rules;
  }

  /** Whether every number that was read is within the range of a double. */
  get isFinite(): boolean {
    return this.#isFinite;
  }

  /**
   * Reads this many more bytes. Returns true once everything was read.
   * @throws JsonProblem
   */
  run(bytesMax: number): boolean {
    this.#pauseAt = this.#at + bytesMax;
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
    const name = JSON.parse(utf8.decode(this.#bytes.subarray(this.#stringStart, this.#at))) as string;
    frame.member = name;
    if (frame.names?.has(name)) throw this.#wrong('names a member twice');
    frame.names?.add(name);
    this.#expects = 'colon';
  }

  /** Where the escape at `at` ends. Both halves of a surrogate pair are read together. */
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
    if (second >= 0xdc00 && second <= 0xdfff) return at + 12;
    // A JSON pointer cannot contain a lone surrogate, so the problem names the object that has the member.
    throw this.#stringIsName
      ? this.#wrong('names a member with a lone surrogate', this.#open.slice(0, -1))
      : this.#wrong('holds a lone surrogate');
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
    if (end - this.#at > numberBytesMax) throw new JsonProblem('holds a number that is too long', `byte ${this.#at}`);
    const text = utf8.decode(this.#bytes.subarray(this.#at, end));
    if (text !== 'true' && text !== 'false' && text !== 'null') this.#checkNumber(text);
    this.#at = end;
    this.#endValue();
  }

  #checkNumber(text: string): void {
    const match = NUMBER.exec(text);
    if (match === null) throw this.#unexpected();
    const value = Number(text);
    const isInteger = match[1] === undefined && match[2] === undefined;
    const mayRound = this.#rules.numbers === 'rounded' || !isInteger;
    const isHeld = Number.isFinite(value) && (mayRound || isWrittenFor(value, text));
    if (!isHeld && !this.#mayApproximate()) throw this.#wrong('holds a number that a double cannot hold');
    if (!Number.isFinite(value)) this.#isFinite = false;
  }

  #mayApproximate(): boolean {
    const [top, holder] = this.#open;
    return this.#open.length === 2 && top?.member === this.#rules.approximateIn && holder?.names !== null;
  }

  #skipSpace(): void {
    if (this.#expects === 'rest of string') return;
    while (this.#at < this.#pauseAt && isSpace(this.#bytes[this.#at])) this.#at += 1;
  }

  #countToken(): void {
    this.#tokens += 1;
    const { tokensMax } = this.#rules;
    if (this.#tokens > tokensMax) throw new JsonProblem(`holds more than ${tokensMax} tokens`, `byte ${this.#at}`);
  }

  #unexpected(at = this.#at): JsonProblem {
    return new JsonProblem(at < this.#bytes.length ? 'is not JSON' : 'ends before its value does', `byte ${at}`);
  }

  /** A problem with a member that is well-formed. The member is named by its JSON pointer. */
  #wrong(problem: string, frames: readonly Frame[] = this.#open): JsonProblem {
    const pointer = frames.map((frame) => `/${pointerToken(String(frame.member))}`).join('');
    return new JsonProblem(problem, `"${pointer}"`);
  }
}

/** Whether an integer's text states the double exactly, or is the text that JavaScript writes for that double. */
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

/** Whether the byte may be part of a number or of `true`, `false` or `null`. */
function isScalarByte(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const isDigit = byte >= 0x30 && byte <= 0x39;
  const isLetter = (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
  return isDigit || isLetter || byte === 0x2b || byte === 0x2d || byte === 0x2e;
}

/** A name as a part of a JSON pointer. RFC 6901 § 3. */
function pointerToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
