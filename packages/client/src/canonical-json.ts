/** The one spelling of a JSON value that is used for every digest: RFC 8785. */

/**
 * The RFC 8785 text of a value that was read from JSON.
 * @throws Error if a text has no UTF-8 form, and so no canonical form
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value !== 'object' || value === null) return primitive(value);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${primitive(name)}:${canonicalJson(member)}`).join()}}`;
}

function primitive(value: unknown): string {
  if (typeof value === 'string' && !value.isWellFormed()) throw new Error('a lone surrogate has no canonical form');
  return JSON.stringify(value);
}
