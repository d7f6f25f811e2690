/** How the contract spells ids, times, digests and addresses. */
import { Type } from './type.ts';

/** `job_` and a UUIDv7 in lower case, for every job that this version makes. Clients must treat it as opaque. */
export const JobId = Type.String({ description: 'A job id: opaque, and no authorization by itself.' });

/** RFC 3339, UTC, with milliseconds: `2026-11-21T02:13:14.123Z`. */
export const Timestamp = Type.String({ format: 'date-time', description: 'UTC with milliseconds.' });

/** A SHA-256 digest as 64 lower-case hex digits, without a prefix. */
export const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** An address on this service, from its root: it starts with a slash. */
export const RelativeUrl = Type.String({ format: 'uri-reference', description: 'Relative to the service.' });
