/** The target in a request's first line, in any of the forms in RFC 9112 § 3.2. */
import { ServiceError } from '../../ground/service-error.ts';

/** A target in the form that an origin server answers. */
export interface Target {
  /** A path with its query; `*` only with OPTIONS, where it means the whole server. */
  readonly path: string;
  /** The host, if the target names one. It then replaces the header `Host`. RFC 9112 § 3.2.2. */
  readonly host: string | null;
}

/** An absolute URL: its authority without user information, its path and its query. */
const ABSOLUTE = /^https?:\/\/([^/?@]+)(\/[^?]*)?(\?.*)?$/i;

/** Reads a target. Null for targets that this service does not answer, such as an authority, another scheme or a fragment. */
export function readTarget(method: string | undefined, target: string): Target | null {
  if (target.includes('#')) return null;
  if (target.startsWith('/')) return { path: target, host: null };
  if (target === '*') return method === 'OPTIONS' ? { path: target, host: null } : null;
  const [, host, path = '/', query = ''] = ABSOLUTE.exec(target) ?? [];
  return host === undefined ? null : { path: path + query, host };
}

/** The refusal if nothing answers a target, because there is no such path or the path does not take this method. */
export function noSuchRoute(): ServiceError {
  return new ServiceError('route_not_found', 'No such route.');
}
