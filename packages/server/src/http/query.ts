/**
 * Query parameters, parsed once into values that cannot be wrong. A parameter that is given twice, is empty, or is not
 * known to the operation is refused by name: a filter that is silently dropped shows a client too much.
 */
import { ServiceError } from '../service-error.ts';

/** Makes the value of a parameter out of its text; `undefined` stands for one that was not sent. */
export type ParameterParser<T> = (text: string | undefined, name: string) => T;

type Parsed<P> = { [Name in keyof P]: P[Name] extends ParameterParser<infer T> ? T : never };

/**
 * Reads every parameter that `parsers` names.
 *
 * @throws ServiceError `invalid_request` naming the first parameter that is wrong.
 */
export function readQuery<P extends Record<string, ParameterParser<unknown>>>(query: unknown, parsers: P): Parsed<P> {
  const given = textsOf(query);
  for (const name of given.keys()) {
    if (!Object.hasOwn(parsers, name)) throw refused(`The query parameter ${JSON.stringify(name)} is not known here.`);
  }
  const entries = Object.entries(parsers).map(([name, parse]) => [name, parse(given.get(name), name)]);
  return Object.fromEntries(entries) as Parsed<P>;
}

function textsOf(query: unknown): Map<string, string> {
  const given = new Map<string, string>();
  for (const [name, value] of Object.entries((query ?? {}) as Record<string, unknown>)) {
    if (typeof value !== 'string') throw refused(`The query parameter ${JSON.stringify(name)} is given twice.`);
    given.set(name, value);
  }
  return given;
}

export interface NumberBounds {
  readonly minimum: number;
  readonly maximum: number;
  readonly default: number;
}

/** A whole number in plain decimal digits. */
export function wholeNumber(bounds: NumberBounds): ParameterParser<number> {
  return numberOf(/^(?:0|[1-9]\d{0,15})$/, `a whole number from ${bounds.minimum} to ${bounds.maximum}`, bounds);
}

/** A number in plain decimal digits, with an optional fraction. */
export function decimalNumber(bounds: NumberBounds): ParameterParser<number> {
  return numberOf(
    /^(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?$/,
    `a number from ${bounds.minimum} to ${bounds.maximum}`,
    bounds,
  );
}

function numberOf(form: RegExp, described: string, bounds: NumberBounds): ParameterParser<number> {
  return (text, name) => {
    if (text === undefined) return bounds.default;
    const value = form.test(text) ? Number(text) : Number.NaN;
    if (value >= bounds.minimum && value <= bounds.maximum) return value;
    throw refused(`The query parameter "${name}" must be ${described}.`);
  };
}

/** Opaque text of 1 to `charsMax` visible ASCII characters; null where it was not sent. */
export function opaqueText(charsMax: number): ParameterParser<string | null> {
  return (text, name) => {
    if (text === undefined) return null;
    if (text.length <= charsMax && /^[\x21-\x7e]+$/.test(text)) return text;
    throw refused(`The query parameter "${name}" is malformed.`);
  };
}

/** One of a set of words; null where it was not sent. */
export function oneOf<W extends string>(words: readonly W[]): ParameterParser<W | null> {
  return (text, name) => (text === undefined ? null : wordOf(words, text, name));
}

/** Some of a set of words, separated by commas; null where it was not sent. */
export function someOf<W extends string>(words: readonly W[]): ParameterParser<readonly W[] | null> {
  return (text, name) => {
    if (text === undefined) return null;
    return [...new Set(text.split(',').map((word) => wordOf(words, word, name)))];
  };
}

function wordOf<W extends string>(words: readonly W[], text: string, name: string): W {
  const word = words.find((candidate) => candidate === text);
  if (word === undefined) throw refused(`The query parameter "${name}" takes: ${words.join(', ')}.`);
  return word;
}

function refused(message: string): ServiceError {
  return new ServiceError('invalid_request', message);
}
