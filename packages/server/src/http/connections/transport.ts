/**
 * The bounds that hold for every connection. All but one are compiled in and are not settings, so that a deployment
 * cannot weaken them by accident. Tests set shorter times. Spec § Limits.
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
  /** How many connections may be open at once. */
  readonly connections: number;
  /** How many connections one peer may have without a live credential. This is the only bound that is a setting. */
  readonly connectionsOfPeer: number;
  readonly headBytes: number;
  /** The time from the start of a connection, or from the first byte of a later request, to the end of the head. */
  readonly headMilliseconds: number;
  /** The time from the end of the head to the end of the body. */
  readonly bodyMilliseconds: number;
  /** A body of this age is ended if its rate is below the minimum and more than half of the places are taken. */
  readonly bodyUnhurriedMilliseconds: number;
  /** A body's minimum rate, as an average since the end of the head. */
  readonly bodyBytesPerSecond: number;
  /** The longest time in which the socket accepts no byte although there is something to send. */
  readonly writeProgressMilliseconds: number;
  /** The longest time from accept to close, in every case. */
  readonly connectionMilliseconds: number;
  /** The time from an answer's end to the next request's first byte. It is longer than the idle time of common proxies. */
  readonly idleMilliseconds: number;
  /** The time between two checks of the connections. A deadline is missed by at most this time. */
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
