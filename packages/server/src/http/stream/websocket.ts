/** The WebSocket server. Handshakes that pass the listener go through the router like any other request. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { STREAM_CLOSE_CODES, toolAnswerBodyBytesMax } from '@vouchbox/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Connections } from '../connections/connections.ts';
import type { Upgrades } from '../connections/listener.ts';

/** Taken without an import, because an import reads every name in the module, and some names load all of Node's `fetch`. */
const { ServerResponse } = process.getBuiltinModule('node:http');

/** Headers that every answer to a known caller has, but that the WebSocket server would leave out. */
const UPGRADE_HEADERS = ['x-request-id', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'];

/** The largest message that is read from a client that may send none. Any message from it closes the stream. */
const messageBytesMax = 125;
/** The largest message from a client that answers tool calls. */
const answerBytesMax = toolAnswerBodyBytesMax;

/** The parts of a handshake. */
interface Handshake {
  readonly socket: Socket;
  /** The bytes that the client sent after the request. */
  readonly head: Buffer;
}

/** The streams of one app. */
export class WebSockets {
  /** Where the listener announces handshakes. */
  readonly upgrades: Upgrades = new EventEmitter();
  readonly #connections: Connections;
  readonly #handshakes = new WeakMap<IncomingMessage, Handshake>();
  /** Further headers for the answer to a handshake, beside those that the handshake itself needs. */
  readonly #headers = new WeakMap<IncomingMessage, readonly string[]>();
  readonly #readers = serverFor(messageBytesMax);
  readonly #answerers = serverFor(answerBytesMax);

  constructor(connections: Connections) {
    this.#connections = connections;
    for (const server of [this.#readers, this.#answerers])
      server.on('headers', (lines, request) => lines.push(...(this.#headers.get(request) ?? [])));
  }

  /** Sends handshakes through the router. Their routes are in this scope. Closing the app closes open streams. */
  addTo(scope: FastifyInstance): void {
    this.upgrades.on('upgrade', (request, socket, head) => {
      this.#handshakes.set(request, { socket, head });
      // Errors must be handled here, because Node has let go of the connection and the WebSocket server has not taken it yet.
      socket.on('error', destroyed);
      const response = new ServerResponse(request);
      response.assignSocket(socket);
      scope.routing(request, response);
    });
    scope.addHook('onResponse', (request, reply, done) => {
      // Node lets go of a connection that asks to become a WebSocket, so a refused connection is closed here.
      if (reply.raw.statusCode !== 101) this.#handshakes.get(request.raw)?.socket.destroySoon();
      done();
    });
    scope.addHook('preClose', (done) => {
      for (const { clients } of [this.#readers, this.#answerers])
        for (const socket of clients) socket.close(STREAM_CLOSE_CODES.restarting);
      done();
    });
  }

  /** Whether a request is a handshake. */
  has({ raw }: FastifyRequest): boolean {
    return this.#handshakes.has(raw);
  }

  /** Answers a handshake, then runs `serve` on the stream. `answers` says whether the client may send answers to calls. */
  accept(
    request: FastifyRequest,
    reply: FastifyReply,
    { serve, answers }: { readonly serve: (socket: WebSocket) => Promise<void>; readonly answers: boolean },
  ): void {
    const { raw } = request;
    const handshake = this.#handshakes.get(raw);
    if (handshake === undefined) throw new Error('the request is not a handshake');
    const { socket, head } = handshake;
    this.#headers.set(
      raw,
      UPGRADE_HEADERS.map((name) => `${name}: ${String(reply.getHeader(name))}`),
    );
    reply.hijack();
    // From here on, the WebSocket server listens for errors.
    socket.off('error', destroyed);
    const server = answers ? this.#answerers : this.#readers;
    server.handleUpgrade(raw, socket, head, (stream) => {
      // The WebSocket server itself answers a client that breaks the protocol. Here, the connection is only closed.
      stream.on('error', () => this.#connections.close(socket));
      serve(stream).catch(() => this.#connections.close(socket));
    });
  }
}

function serverFor(maxPayload: number): WebSocketServer {
  return new WebSocketServer({ noServer: true, maxPayload, perMessageDeflate: false, autoPong: false });
}

function destroyed(this: Socket): void {
  this.destroy();
}
