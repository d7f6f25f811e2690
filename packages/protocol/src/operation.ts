/** One operation as data: its callers, its input and its answers. The table is in `operations.ts`. */

import type { OperationEndpoint } from './endpoints.ts';
import type { ErrorCode } from './errors.ts';
import type { Scope } from './scopes.ts';
import type { TObject, TSchema } from './type.ts';

/** Who may call: anyone, any valid credential, a credential with this scope, or the bearer of the metrics token. */
export type Access = 'public' | 'credential' | 'metrics_token' | Scope;

/**
 * The permits that a request holds while it is in progress. Each kind is bounded for the whole service and, except `connection`,
 * also for each tenant.
 */
export type Capacity = 'connection' | 'body' | 'queue' | 'wait' | 'stream' | 'response';

/** Headers on answers, beyond those of HTTP in general. `X-Request-Id` is on every answer. */
export type AnswerHeader =
  | 'X-Request-Id'
  | 'Location'
  | 'Idempotency-Replayed'
  | 'Retry-After'
  | 'RateLimit-Limit'
  | 'RateLimit-Remaining'
  | 'RateLimit-Reset'
  | 'WWW-Authenticate'
  | 'Sec-WebSocket-Version'
  | 'X-Content-Sha256'
  | 'Content-Length'
  | 'Cache-Control'
  | 'X-Content-Type-Options'
  | 'ETag'
  | 'Allow';

/** One success of an operation. `content` maps each media type to its schema; without a media type, there is no body. */
export interface Answer {
  readonly description: string;
  readonly content: Readonly<Record<string, TSchema>>;
  readonly headers: readonly AnswerHeader[];
}

/** A body that an operation takes. */
export interface RequestBody {
  readonly schema: TSchema;
  /** The media type of the body. Default: JSON. */
  readonly mediaType?: string;
  /** The most bytes of the encoded body. */
  readonly bytesMax: number;
  /** A phrase for the refusal of a body that is too large. The phrase states a further bound, such as the bound of a part. */
  readonly smallerBound?: string;
  /** The most tokens in the body's JSON, if it may have more tokens than other bodies. */
  readonly tokensMax?: number;
  /** Whether the body may be left out. */
  readonly isOptional: boolean;
}

export interface Operation extends OperationEndpoint {
  readonly tag: 'jobs' | 'gradings' | 'sessions' | 'blobs' | 'evidence' | 'service' | 'public';
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** A second scope that every request needs. */
  readonly alsoAccess?: Scope;
  /** Whether a stream ticket in the query may replace the credential. */
  readonly ticket?: true;
  /** The codes that close a WebSocket, each with its meaning. */
  readonly closeCodes?: Readonly<Record<string, string>>;
  /** The last frame of a WebSocket. It is sent if the client asked for it. */
  readonly lastFrame?: TSchema;
  /** The messages that a client may send over a WebSocket, and the frame that refuses such a message. */
  readonly clientMessage?: TSchema;
  readonly refusalFrame?: TSchema;
  /** The parameters in the query, with their values after decoding. A list is one comma-separated parameter. */
  readonly query?: TObject;
  /** The additional scope that a request needs if this parameter does not have its default. */
  readonly queryAccess?: Readonly<Record<string, Scope>>;
  readonly headers?: TObject;
  readonly body?: RequestBody;
  readonly answers: Readonly<Record<number, Answer>>;
  readonly errors: readonly ErrorCode[];
  readonly capacity: readonly Capacity[];
}

/** An operation without its address, as a row of the table. */
export type OperationRow = Omit<Operation, keyof OperationEndpoint>;
