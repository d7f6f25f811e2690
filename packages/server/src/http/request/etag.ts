/** Tags that name answers. A client uses them to say which answer it has. RFC 9110 § 8.8.3, § 13.1.2. */
import { hash } from 'node:crypto';

/** The tag for these bytes. */
export function etagOf(bytes: Uint8Array | string): string {
  return `"${hash('sha256', bytes, 'hex').slice(0, 32)}"`;
}

/** Whether the client has the answer with this tag. The comparison is weak, and a star matches any answer. */
export function hasIt(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}
