/** Which names a tenant may have. The name goes into keys of maps and rows, into logs, and into signed statements. */

const TENANT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Whether a name is 1–64 letters, digits, dots, dashes and underscores, and not an inherited property name. */
export function isTenantName(name: unknown): name is string {
  return typeof name === 'string' && TENANT.test(name) && !(name in {});
}
