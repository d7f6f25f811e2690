/**
 * Checks query parameters against the schemas in the contract's table. The OpenAPI document is made from the same
 * schemas. A parameter that is repeated, empty, or unknown to the operation is refused by name, because silently
 * dropping a filter would show a client too much.
 */
import { type Filled, fits, type TObject, type TSchema } from '@vouchbox/protocol';
import { invalidRequest } from '../../ground/service-error.ts';

/**
 * The values in a query that has no unknown parameters. A parameter that was not sent gets its default or is left out.
 *
 * @throws ServiceError `invalid_request`, which names the first wrong parameter
 */
export function readQuery<T extends TObject>({ properties }: T, query: unknown): Filled<T> {
  const given = query as Readonly<Record<string, unknown>>;
  refuseRepeated(given);
  const values: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries<ParameterSchema>(properties)) {
    const value = parameterOf(name, given[name] as string | undefined, schema);
    if (value !== undefined) values[name] = value;
  }
  return values as Filled<T>;
}

/** @throws ServiceError `invalid_request`, which names the first parameter that was sent more than once */
export function refuseRepeated(given: Readonly<Record<string, unknown>>): void {
  const repeated = Object.keys(given).find((name) => typeof given[name] !== 'string');
  if (repeated !== undefined) throw invalidRequest(`The query parameter ${JSON.stringify(repeated)} is given twice.`);
}

/** @throws ServiceError `invalid_request`, which names the first parameter that the schema lacks */
export function refuseUnknownParameters(schema: TObject | undefined, query: unknown): void {
  const known = schema?.properties ?? {};
  const unknown = Object.keys(query as object).find((name) => !Object.hasOwn(known, name));
  if (unknown !== undefined) throw invalidRequest(`The query parameter ${JSON.stringify(unknown)} is not known here.`);
}

/** The part of a schema that is read here. Every number has both bounds. */
interface ParameterSchema extends TSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly items?: ParameterSchema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
}

function parameterOf(name: string, text: string | undefined, schema: ParameterSchema): unknown {
  if (text === undefined) return schema.default;
  if (schema.enum !== undefined) return wordOf(schema.enum, { text, name });
  if (schema.type === 'integer') return numberOf(WHOLE, { text, name, schema, described: 'a whole number' });
  if (schema.type === 'number') return numberOf(NUMBER, { text, name, schema, described: 'a number' });
  if (schema.items !== undefined) return listOf(schema.items.enum ?? [], { text, name });
  return opaqueText(text, name, schema);
}

/** Plain decimal digits. */
const WHOLE = /^(?:0|[1-9]\d{0,15})$/;
/** A number as any language writes it: a sign, digits on one or both sides of the point, an exponent. */
const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

interface GivenNumber {
  readonly text: string;
  readonly name: string;
  readonly schema: ParameterSchema;
  readonly described: string;
}

function numberOf(form: RegExp, { text, name, schema, described }: GivenNumber): number {
  const { minimum = 0, maximum = 0 } = schema;
  const value = form.test(text) ? Number(text) : Number.NaN;
  // Negative zero becomes zero, because a number of seconds has no sign.
  if (value >= minimum && value <= maximum) return value === 0 ? 0 : value;
  throw invalidRequest(`The query parameter "${name}" must be ${described} from ${minimum} to ${maximum}.`);
}

function opaqueText(text: string, name: string, schema: ParameterSchema): string {
  if (fits(schema, text)) return text;
  throw invalidRequest(`The query parameter "${name}" is malformed.`);
}

/** Words separated by commas. Repeated words are kept once. */
function listOf(words: readonly string[], { text, name }: { text: string; name: string }): string[] {
  return [...new Set(text.split(',').map((word) => wordOf(words, { text: word, name })))];
}

function wordOf(words: readonly string[], { text, name }: { text: string; name: string }): string {
  if (words.includes(text)) return text;
  throw invalidRequest(`The query parameter "${name}" must be one of ${words.join(', ')}.`);
}
