/** Settings in YAML, as maps of plain values. Aliases are refused, because they let a short text stand for a long one. */
import { parse } from 'yaml';
import { UsageError } from '../failures/usage-error.ts';

const textMax = 64 * 1024;

/** One mapping in a file. Each reading method returns undefined if the key is missing or null. */
export class Settings {
  readonly #file: string;
  readonly #values: ReadonlyMap<unknown, unknown>;

  constructor(file: string, values: ReadonlyMap<unknown, unknown>) {
    this.#file = file;
    this.#values = values;
  }

  /** @throws UsageError if the text is not a YAML mapping */
  static of(file: string, text: string): Settings {
    if (text.length > textMax) throw new UsageError(`${file} is longer than a settings file may be`);
    const value = parsed(file, text) ?? new Map();
    if (!(value instanceof Map)) throw new UsageError(`${file} is no mapping of names to values`);
    return new Settings(file, value);
  }

  has(key: string): boolean {
    return (this.#values.get(key) ?? null) !== null;
  }

  text(key: string): string | undefined {
    const value = this.#values.get(key) ?? undefined;
    if (value === undefined || typeof value === 'string') return value;
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    return this.#refuse(key, 'a text');
  }

  number(key: string): number | undefined {
    const value = this.#values.get(key) ?? undefined;
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value) && value >= 0)) return value;
    return this.#refuse(key, 'a number that is not negative');
  }

  /** A list of words. A text is divided into words as a shell divides a text without quotes. */
  words(key: string): readonly string[] | undefined {
    const value = this.#values.get(key) ?? undefined;
    if (!Array.isArray(value))
      return this.text(key)
        ?.split(/\s+/)
        .filter((word) => word !== '');
    if (value.every((word) => ['string', 'number', 'boolean'].includes(typeof word))) return value.map(String);
    return this.#refuse(key, 'a list of words');
  }

  isMap(key: string): boolean {
    return this.#values.get(key) instanceof Map;
  }

  /** The mapping at a key; empty if there is none. */
  map(key: string): Settings {
    const value = this.#values.get(key) ?? new Map();
    return value instanceof Map ? new Settings(`${this.#file}: ${key}`, value) : this.#refuse(key, 'a mapping');
  }

  /** The text of a key that may be given in several languages: the English one, or else the first. */
  named(key: string): string | undefined {
    if (!this.isMap(key)) return this.text(key);
    const values = this.#values.get(key) as ReadonlyMap<unknown, unknown>;
    const text = values.get('en') ?? [...values.values()][0];
    return typeof text === 'string' ? text : this.#refuse(key, 'a text');
  }

  #refuse(key: string, wanted: string): never {
    throw new UsageError(`${this.#file}: ${key} is not ${wanted}`);
  }
}

function parsed(file: string, text: string): unknown {
  try {
    return parse(text, { schema: 'core', mapAsMap: true, maxAliasCount: 0, logLevel: 'error' });
  } catch (error) {
    const [line = ''] = (error as Error).message.split('\n');
    throw new UsageError(`${file} cannot be read as YAML: ${line}`, { cause: error });
  }
}
