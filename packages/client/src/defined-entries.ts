/** Leaves out undefined members. */

/** The members of an object that are not undefined. */
export function definedEntries(members: object): [name: string, value: unknown][] {
  return Object.entries(members).filter(([, value]) => value !== undefined);
}
