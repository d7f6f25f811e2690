/**
 * A job's WebSocket stream. Each text frame is one event, the same object as in replay. Stored history comes first, then live
 * events. The close comes last, after `finished` or after a frame with the outcome. Spec § WebSocket stream.
 */

/**
 * Why the server closes a stream. A client reconnects with its cursor after every code except `finished` and `credentialEnded`.
 * If the client closes with a code, it gets that code back. RFC 6455 § 7.4.1.
 */
export const STREAM_CLOSE_CODES = {
  finished: 1000,
  lifetimeReached: 1001,
  protocolError: 1002,
  notUtf8: 1007,
  messageSent: 1008,
  messageTooLarge: 1009,
  failed: 1011,
  restarting: 1012,
  gaveWay: 1013,
  credentialEnded: 4401,
  lagged: 4408,
} as const;
export type StreamCloseReason = keyof typeof STREAM_CLOSE_CODES;

/** The meaning of each close code, as words after "when". */
export const STREAM_CLOSE_MEANINGS = {
  [STREAM_CLOSE_CODES.finished]: 'all was sent',
  [STREAM_CLOSE_CODES.lifetimeReached]: 'the connection reached its lifetime',
  [STREAM_CLOSE_CODES.protocolError]: 'the client broke the WebSocket protocol',
  [STREAM_CLOSE_CODES.notUtf8]: 'the client sent text that is not UTF-8',
  [STREAM_CLOSE_CODES.messageSent]: 'the client sent a message that is not an answer, or may not send answers',
  [STREAM_CLOSE_CODES.messageTooLarge]: 'the client sent more than any frame may have',
  [STREAM_CLOSE_CODES.failed]: 'the service failed, as when its store does not answer',
  [STREAM_CLOSE_CODES.restarting]: 'the service stops',
  [STREAM_CLOSE_CODES.gaveWay]: "another tenant needs a place for a stream, and the client's tenant has most streams",
  [STREAM_CLOSE_CODES.credentialEnded]: 'the credential ended',
  [STREAM_CLOSE_CODES.lagged]: 'the client takes nothing',
} as const satisfies Record<(typeof STREAM_CLOSE_CODES)[StreamCloseReason], string>;

/** All close codes with their meanings, as part of a sentence. */
export const STREAM_CLOSES = Object.entries(STREAM_CLOSE_MEANINGS)
  .map(([code, meaning]) => `${code} when ${meaning}`)
  .join(', ');
