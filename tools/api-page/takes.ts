/** Says in words which values a parameter or a member takes. The words are made from its schema. */

/** A schema as plain JSON. */
export interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly default?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: '`true` or `false`',
  object: 'an object',
  null: 'null',
};

/** The values in words, such as "a whole number, 1 to 200". */
export function takes(schema: Schema): string {
  if (schema.anyOf !== undefined && schema.type === undefined)
    return [...new Set(schema.anyOf.map(takes))].join(' or ');
  if (schema.enum !== undefined) return `one of ${schema.enum.map((word) => `\`${word}\``).join(', ')}`;
  if (schema.type === 'array') return `a list${bounds(schema)} of ${ofItems(schema.items ?? {})}`;
  if (schema.patternProperties !== undefined) return `an object${bounds(schema)} of names and texts`;
  return `${TYPES[schema.type ?? ''] ?? 'any value'}${bounds(schema)}${spelling(schema)}`;
}

/** The description of a member. A nullable member has it in one of its alternatives. */
export function descriptionOf({ description, anyOf = [] }: Schema): string {
  return description ?? anyOf.map(descriptionOf).find((text) => text !== '') ?? '';
}

function ofItems(items: Schema): string {
  if (items.enum !== undefined) return `the words ${items.enum.map((word) => `\`${word}\``).join(', ')}`;
  return items.type === 'object' ? 'objects' : items.type === 'string' ? 'texts' : takes(items);
}

function bounds(schema: Schema): string {
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength, minItems, maxItems, maxProperties } = schema;
  if (exclusiveMinimum !== undefined) return `, above ${exclusiveMinimum}`;
  if (maximum === Number.MAX_SAFE_INTEGER) return `, ${minimum ?? 0} or more`;
  if (maximum !== undefined) return `, ${minimum ?? 0} to ${maximum}`;
  if (maxLength !== undefined) return `, ${minLength ?? 0} to ${maxLength} characters`;
  if (minLength !== undefined) return `, at least ${minLength} character`;
  if (maxItems !== undefined) return `, at most ${maxItems},`;
  if (minItems !== undefined) return `, at least ${minItems},`;
  return maxProperties === undefined ? '' : `, at most ${maxProperties},`;
}

/** The allowed characters: the most common pattern in words, any other pattern as it is. */
function spelling({ pattern }: Schema): string {
  if (pattern === undefined) return '';
  return pattern === '^[\\x21-\\x7e]+$' ? ', visible ASCII' : `, matching \`${pattern}\``;
}
