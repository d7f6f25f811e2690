/**
 * The bounds of every connection. All but one are compiled in, not settings: a deployment cannot weaken them by
 * accident. Tests set shorter times. Spec § Limits.
 */
import {
  bodyBytesPerSecondMin,
  bodyMillisecondsMax,
  bodyUnhurriedMilliseconds,
  connectionMillisecondsMax,
  connectionsMax,
  headBytesMax,
  headMillisecondsMax,
  writeProgressMillisecondsMax,
} from '@vouchbox/protocol';

export interface TransportBounds {
  /** Connections open at once. */
  readonly connections: number;
  /** How many connections one peer may have without a live credential. No other bound is a setting. */
  readonly connectionsOfPeer: number;
  readonly headBytes: number;
  /** The time from the start of a connection, or from the first byte of a later request, to the end of the head. */
  readonly headMilliseconds: number;
  /** The time from the end of the head to the end of the body. */
  readonly bodyMilliseconds: number;
  /** A body of this age ends if it came more slowly than the least rate, and more than half of the places are taken. */
  readonly bodyUnhurriedMilliseconds: number;
  /** The least rate of a body: its average since the end of the head. */
  readonly bodyBytesPerSecond: number;
  /** The time without one byte accepted by the socket while there is something to send. */
  readonly writeProgressMilliseconds: number;
  /** The time from accept to close, in every case. */
  readonly connectionMilliseconds: number;
  /** The time between an answer's end and the next request's first byte. It is longer than the idle time of usual proxies. */
  readonly idleMilliseconds: number;
  /** The time between two checks of the connections. A deadline is missed by at most this. */
  readonly checkMilliseconds: number;
}

export const TRANSPORT_BOUNDS: TransportBounds = {
  connections: connectionsMax,
  connectionsOfPeer: 64,
  headBytes: headBytesMax,
  headMilliseconds: headMillisecondsMax,
  bodyMilliseconds: bodyMillisecondsMax,
  bodyUnhurriedMilliseconds,
  bodyBytesPerSecond: bodyBytesPerSecondMin,
  writeProgressMilliseconds: writeProgressMillisecondsMax,
  connectionMilliseconds: connectionMillisecondsMax,
  idleMilliseconds: 65_000,
  checkMilliseconds: 500,
};
