/** The parts of an issued key that tests use. */

/** The secret in a key `svc_<index>_<secret>`: everything after the second underscore. It may contain more underscores. */
export function secretOf(key: string): string {
  return key.slice(key.indexOf('_', 'svc_'.length) + 1);
}
