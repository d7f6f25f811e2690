/**
 * The only code that builds JSON from parts that are already JSON text. Stored JSON is served as stored, and is never parsed and
 * written again. Code with a missing or misspelt member does not compile. RFC 8259.
 */

declare const VALUE: unique symbol;

/** The JSON text of a `T`. Only its type distinguishes it from other text. */
export type JsonText<T> = string & { readonly [VALUE]: T };

/** The text of a value that is written as a whole. */
export function textOf<T extends object>(value: T): JsonText<T> {
  return JSON.stringify(value) as JsonText<T>;
}

/** The value of a stored text; undefined if the text is not JSON, because no JSON text has the value undefined. */
export function storedValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A value given as its JSON text, to be a member of a larger value. */
export class Spelled<T> {
  readonly text: JsonText<T>;

  constructor(text: string) {
    this.text = text as JsonText<T>;
  }
}

/** The members of a `T`, in the order in which they are written: each is given as its value, as its text, or as an `Other`. */
export type Members<T, Other = never> = {
  readonly [Name in keyof T]: T[Name] | Spelled<T[Name]> | Other;
};

/** The text of an object. A member that is undefined is left out. */
export function jsonText<T extends object>(members: Members<T>): JsonText<T> {
  let text = '';
  for (const name in members) {
    const member: unknown = members[name];
    if (member !== undefined) text += `${text === '' ? '{' : ','}"${name}":${memberText(member)}`;
  }
  return `${text === '' ? '{' : text}}` as JsonText<T>;
}

/** The text of an object of a base type, followed by the members that the larger type adds. */
export function withMembers<T extends object, Base extends object>(
  base: JsonText<Base>,
  members: Members<Omit<T, keyof Base>>,
): JsonText<T> {
  return `${base.slice(0, -1)},${jsonText(members).slice(1)}` as JsonText<T>;
}

/** The text of one member. */
export function memberText(member: unknown): string {
  return member instanceof Spelled ? member.text : JSON.stringify(member);
}
