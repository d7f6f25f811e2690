/** The WebSocket server: handshakes that passed the listener go through the router like any request. */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { fastifyWebsocket } from '@fastify/websocket';
import { STREAM_CLOSE_CODES } from '@vouchbox/protocol';
import type { FastifyInstance } from 'fastify';
import type { Connections } from '../connections/connections.ts';
import { isStreamHandshake } from './handshake.ts';

/** Headers of every answer to a known caller, which the WebSocket server would leave out. */
const UPGRADE_HEADERS = ['x-request-id', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'];

/** The largest message that is read from a client. Clients may send none, and a stream that gets one is closed. */
const messageBytesMax = 125;

export interface WebSocketOptions {
  /** Where well-formed handshakes are announced. */
  readonly upgrades: EventEmitter;
  readonly connections: Connections;
}

/** Lets the routes of this scope have a `wsHandler`. Closing the app closes what is open. */
export async function addWebSockets(
  scope: FastifyInstance,
  { upgrades, connections }: WebSocketOptions,
): Promise<void> {
  /** Headers of the answer to a handshake, beside those of the handshake itself. */
  const headersOf = new WeakMap<IncomingMessage, readonly string[]>();
  scope.addHook('preHandler', (request, reply, done) => {
    headersOf.set(
      request.raw,
      UPGRADE_HEADERS.map((name) => `${name}: ${String(reply.getHeader(name))}`),
    );
    done();
  });
  scope.addHook('onResponse', (request, reply, done) => {
    // Node no longer manages a connection that asked for a WebSocket, so a refused one is closed here.
    if (isStreamHandshake(request.raw) && reply.statusCode !== 101) request.raw.socket.destroySoon();
    done();
  });
  await scope.register(fastifyWebsocket, {
    options: {
      // The plugin only listens for `upgrade` on it.
      server: upgrades as Server,
      maxPayload: messageBytesMax,
      perMessageDeflate: false,
      autoPong: false,
    },
    // The WebSocket server has answered a client that broke the protocol; this only sees the connection closed.
    errorHandler: (_error, _socket, request) => connections.close(request.raw.socket),
    preClose(done) {
      for (const socket of scope.websocketServer.clients) socket.close(STREAM_CLOSE_CODES.restarting);
      done();
    },
  });
  scope.websocketServer.on('headers', (lines, request) => lines.push(...(headersOf.get(request) ?? [])));
}
