/** The names that a tenant may have. A name is used in keys of maps and rows, in logs, and in signed statements. */

const TENANT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Whether a name is 1–64 letters, digits, dots, dashes and underscores, and not an inherited property name. */
export function isTenantName(name: unknown): name is string {
  return typeof name === 'string' && TENANT.test(name) && !(name in {});
}
