/** What tests know of an issued key. */

/** The secret of a key, `svc_<index>_<secret>`: all behind the second underscore, for it may hold some of its own. */
export function secretOf(key: string): string {
  return key.slice(key.indexOf('_', 'svc_'.length) + 1);
}
