/** Leaves out undefined members. */

/** An object's members, without those that are undefined. */
export function definedEntries(members: object): [name: string, value: unknown][] {
  return Object.entries(members).filter(([, value]) => value !== undefined);
}
