/** The state of one open connection. Times are in milliseconds on the monotonic clock. */
import type { ServerResponse } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import type { Intake } from './intake.ts';

/** Why a connection must end: because its reader takes nothing, or because its lifetime is over. */
export type Ending = 'stuck' | 'old';

export interface Connection {
  readonly socket: Socket;
  /** The connection's peer: an IPv4 address, or the network of an IPv6 address. */
  readonly peer: string;
  readonly openedAt: number;
  /** Answers that have begun or are queued, oldest first. */
  readonly answers: ServerResponse[];
  readonly intake: Intake;
  /** How many requests were accepted so far. */
  requests: number;
  /** The tenant whose live credential was shown on the connection; null until then. */
  tenant: string | null;
  /** Since when the connection has had no request under way. A head that is still arriving is not yet a request. */
  quietSince: number;
  /** `accepted`: the bytes in pieces that the kernel accepted whole. `left`: the bytes left of the piece in flight. */
  accepted: number;
  left: number;
  /** The last time at which `accepted` or `left` changed, or there was nothing left to send. */
  progressAt: number;
  /** If set, no further request is accepted, and the socket is destroyed at this time. */
  closesAt: number | null;
  /** If true, no further request is accepted, and the connection is closed soon after the kernel has its last byte. */
  closesWhenSent: boolean;
  /** Called once when the connection must end. The socket is destroyed a moment later. */
  onEnding: ((why: Ending) => void) | null;
}

/**
 * The peer that an address belongs to. A client with one IPv6 address usually has the whole /64 network, so the network
 * counts as one peer: RFC 6177 § 2. An IPv4 address in IPv6 spelling counts as the IPv4 address: RFC 4291 § 2.5.5.2.
 */
export function peerOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [front = '', back] = (address.split('%')[0] ?? '').split('::');
  const groups = front === '' ? [] : front.split(':');
  const behind = back === undefined || back === '' ? [] : back.split(':');
  const zeros = back === undefined ? 0 : 8 - groups.length - behind.length;
  const all = [...groups, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...behind];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

/**
 * Notes whether the reader takes bytes. A reader is stuck if neither number changes: the bytes in pieces that were accepted
 * whole, and the bytes left of the piece in flight. Only the handle has the second number; Node's socket timeout reads it there.
 */
export function noteProgress(connection: Connection, now: number): void {
  const { socket } = connection;
  const accepted = socket.bytesWritten - socket.writableLength;
  const left = (socket as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0;
  if (socket.writableLength > 0 && accepted === connection.accepted && left === connection.left) return;
  connection.accepted = accepted;
  connection.left = left;
  connection.progressAt = now;
}

/**
 * Closes a connection at once and discards what its reader has not taken. After an ordinary close, the kernel would keep
 * megabytes of unread data for minutes. A connection that has only its end left to send is closed in the ordinary way, because
 * Node cannot reset a connection while it tells the kernel about the end, and would then never close it. tcp(7), SO_LINGER.
 */
export function resetConnection(socket: Socket): void {
  const isEnding = socket.writableEnded && socket.writableLength === 0;
  if (isEnding) socket.destroy();
  else socket.resetAndDestroy();
}
