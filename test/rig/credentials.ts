/** The parts of an issued key that tests use. */

/**
 * The secret of a key, `svc_<index>_<secret>`: everything after the second underscore, since it may contain further
 * ones.
 */
export function secretOf(key: string): string {
  return key.slice(key.indexOf('_', 'svc_'.length) + 1);
}
