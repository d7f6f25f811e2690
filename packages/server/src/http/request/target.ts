/** What the first line of a request asks for, whichever of the forms of RFC 9112 § 3.2 it is written in. */

/** A target in the form that an origin server answers. */
export interface Target {
  /** A path with its query; `*` only with OPTIONS, where it means the whole server. */
  readonly path: string;
  /** Who was asked, where the target says so: it replaces the header `Host`. RFC 9112 § 3.2.2. */
  readonly host: string | null;
}

/** A whole address: its authority, without user information, and what follows. */
const ABSOLUTE = /^https?:\/\/([^/?@]+)(\/[^?]*)?(\?.*)?$/i;

/** Reads a target; null where it is none that this service answers: an authority, another scheme, a fragment. */
export function readTarget(method: string | undefined, target: string): Target | null {
  if (target.includes('#')) return null;
  if (target.startsWith('/')) return { path: target, host: null };
  if (target === '*') return method === 'OPTIONS' ? { path: target, host: null } : null;
  const [, host, path = '/', query = ''] = ABSOLUTE.exec(target) ?? [];
  return host === undefined ? null : { path: path + query, host };
}
