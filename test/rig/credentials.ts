/** The parts of an issued key that tests use. */

/** The secret of a key, `svc_<index>_<secret>`: all after the second underscore. The secret may contain more underscores. */
export function secretOf(key: string): string {
  return key.slice(key.indexOf('_', 'svc_'.length) + 1);
}
