/**
 * Everything that may end a stream before its job ends, each with its close code: the service stops, the credential ends,
 * another tenant needs the place, the connection's lifetime is over, or the reader is stuck, is gone, or breaks the
 * protocol. Spec § WebSocket stream.
 */
import type { Socket } from 'node:net';
import { STREAM_CLOSE_CODES, type StreamCloseReason, streamPingMilliseconds } from '@vouchbox/protocol';
import type { WebSocket } from 'ws';
import type { Caller } from '../../ground/caller.ts';
import type { Connections } from '../connections/connections.ts';
import type { AuthorityWatch } from './authority.ts';

/** While this many bytes wait for a reader, further pings from that reader are not answered. */
const pongBytesMax = 64 * 1024;

export interface StreamLifeOptions {
  readonly caller: Caller;
  /** The connection under the WebSocket. */
  readonly connection: Socket;
  readonly connections: Connections;
  readonly authority: AuthorityWatch;
  readonly stopping: AbortSignal;
  /** Aborted once another tenant needs the place. */
  readonly gaveWay: AbortSignal;
  /** Whether the client may send messages. Another module reads them. */
  readonly takesMessages?: boolean;
}

/** What may end an open stream. Disposing it stops everything that could end the stream. */
export interface StreamLife extends Disposable {
  /** Aborted once nothing more may be sent. */
  readonly signal: AbortSignal;
  /** Ends the stream. */
  readonly endFor: (reason: StreamCloseReason) => void;
}

/** Watches an open stream from now on. */
export function lifeOfStream(socket: WebSocket, options: StreamLifeOptions): StreamLife {
  const { caller, connection, connections, authority, stopping, gaveWay } = options;
  const ended = new AbortController();
  const endWith = (code: number) => {
    if (ended.signal.aborted) return;
    ended.abort();
    socket.close(code);
    // The service does not wait for a client that does not answer the close frame.
    connections.close(connection);
  };
  const endFor = (reason: StreamCloseReason) => endWith(STREAM_CLOSE_CODES[reason]);
  const onStopping = () => endFor('restarting');
  stopping.addEventListener('abort', onStopping);
  const onGaveWay = () => endFor('gaveWay');
  gaveWay.addEventListener('abort', onGaveWay);
  const unwatch = authority.watch(caller, () => endFor('credentialEnded'));
  connections.onEnding(connection, (why) => endFor(why === 'old' ? 'lifetimeReached' : 'lagged'));
  socket.on('close', () => ended.abort());
  // A client that may send no messages may send only the frames that the protocol itself needs.
  if (options.takesMessages !== true) socket.on('message', () => endFor('messageSent'));
  const stopHeartbeat = beat(socket);
  if (stopping.aborted) onStopping();
  if (gaveWay.aborted) onGaveWay();
  return {
    signal: ended.signal,
    endFor,
    [Symbol.dispose]() {
      stopping.removeEventListener('abort', onStopping);
      gaveWay.removeEventListener('abort', onGaveWay);
      unwatch();
      stopHeartbeat();
    },
  };
}

/**
 * Pings the client, and ends the stream if the client has answered nothing since the last ping. The client's own pings
 * are answered within bounds.
 */
function beat(socket: WebSocket): () => void {
  let isAlive = true;
  socket.on('pong', () => {
    isAlive = true;
  });
  socket.on('ping', (data) => {
    if (socket.bufferedAmount < pongBytesMax) socket.pong(data);
  });
  const timer = setInterval(() => {
    if (!isAlive) socket.terminate();
    isAlive = false;
    socket.ping();
  }, streamPingMilliseconds);
  return () => clearInterval(timer);
}
