/**
 * The WebSocket stream of a job: one text frame is one event, the same object as in replay. Stored history comes first,
 * then live events, then the close after `finished`. Spec § WebSocket stream.
 */

/**
 * Why the server closes a stream. A client reconnects with its cursor after every code but `finished` and
 * `credentialEnded`.
 */
export const STREAM_CLOSE_CODES = {
  /** `finished` was delivered, and nothing follows. */
  finished: 1000,
  /** The connection reached its absolute lifetime. */
  lifetimeReached: 1001,
  /** The service is stopping. */
  restarting: 1012,
  /** The tenant had most of the streams, and another needed a place: come again later. */
  gaveWay: 1013,
  /** The credential behind the stream expired, was rotated or was revoked. */
  credentialEnded: 4401,
  /** The reader's socket did not drain. */
  lagged: 4408,
} as const;
export type StreamCloseReason = keyof typeof STREAM_CLOSE_CODES;
