/**
 * The socket side of HTTP: one HTTP/1.1 server with every bound set. It refuses malformed requests before the router sees
 * them. It answers in the envelope even where Node would answer with an empty body or not at all.
 */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { pipeline } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../ground/service-error.ts';
import { StartError } from '../../ground/start-error.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { Observer } from '../../telemetry/observer.ts';
import { type Refusal, refusalOf } from '../answer/refusal.ts';
import { isStreamHandshake } from '../request/handshake.ts';
import { inspectHead } from '../request/head.ts';
import { newRequestId } from '../request/request-id.ts';
import { beforeDiscarding, hasUnreadBody } from '../request/unread-body.ts';
import type { Connections } from './connections.ts';
import type { Crowd } from './crowd.ts';
import type { TransportBounds } from './transport.ts';

/** Taken without an import, because an import reads every name in the module, and some names load all of Node's `fetch`. */
const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');

/** Emits `upgrade`, with the same arguments as Node's `upgrade` event, for every handshake with a well-formed head. */
export type Upgrades = EventEmitter<{ upgrade: [request: IncomingMessage, socket: Socket, head: Buffer] }>;

export interface HttpServerOptions {
  readonly bounds: TransportBounds;
  readonly connections: Connections;
  readonly crowd: Crowd;
  readonly upgrades: Upgrades;
  readonly log: Log;
  readonly observer: Observer;
}

/** Builds the server, which does not listen yet. `handler` gets only requests with a well-formed head. */
export function createHttpServer(handler: RequestListener, options: HttpServerOptions): Server {
  const { bounds, connections } = options;
  const server = createServer({
    maxHeaderSize: bounds.headBytes,
    headersTimeout: bounds.headMilliseconds,
    requestTimeout: 0,
    keepAliveTimeout: bounds.idleMilliseconds,
    connectionsCheckingInterval: bounds.checkMilliseconds,
    insecureHTTPParser: false,
    requireHostHeader: false,
    joinDuplicateHeaders: false,
    shouldUpgradeCallback: isStreamHandshake,
  });
  server.maxConnections = bounds.connections;
  // Node would silently drop headers beyond this count. Here they are counted and refused instead.
  server.maxHeadersCount = 0;
  const listener = { ...options, handler };
  const onRequest = (request: IncomingMessage, response: ServerResponse) => receive(listener, request, response);
  server.on('connection', (socket) => connections.add(socket));
  server.on('request', onRequest);
  server.on('checkContinue', onRequest);
  server.on('checkExpectation', onRequest);
  server.on('upgrade', (request, socket, head) =>
    receiveUpgrade(listener, request, { socket: socket as Socket, head }),
  );
  server.on('connect', (_request, socket) => answerConnect(listener, socket as Socket));
  server.on('clientError', (error: ParserError, socket) => answerParserError(listener, error, socket as Socket));
  server.on('drop', () => {
    options.crowd.turnedAway();
    connections.makeRoom(performance.now());
  });
  return server;
}

interface Listener extends HttpServerOptions {
  readonly handler: RequestListener;
}

function receive(listener: Listener, request: IncomingMessage, response: ServerResponse): void {
  const { connections, handler } = listener;
  if (!connections.beginAnswer(request, response)) return;
  const error = inspectHead(request);
  if (error === null) {
    handler(request, response);
    return;
  }
  connections.closeAfterAnswer(request.socket);
  const refusal = loggedRefusal(error, listener);
  response.writeHead(refusal.status, { ...refusal.headers, connection: 'close' });
  if (!hasUnreadBody(request)) response.end(refusal.body);
  else pipeline(beforeDiscarding(refusal.body, request), response, ignoreClientGone);
}

/** Receives a handshake. Closes the connection if an earlier request is unanswered, because answers keep the requests' order. */
function receiveUpgrade(
  listener: Listener,
  request: IncomingMessage,
  { socket, head }: { socket: Socket; head: Buffer },
): void {
  const { connections, upgrades } = listener;
  const behind = connections.upgrade(socket);
  if (connections.isClosing(socket) || connections.answersOn(socket).length > 0) {
    socket.destroy();
    return;
  }
  const error = inspectHead(request);
  if (error === null) upgrades.emit('upgrade', request, socket, Buffer.concat([head, behind]));
  else endWith(connections, socket, loggedRefusal(error, listener));
}

/** Ignores the error from a client that leaves while it is refused, because the service did nothing wrong. */
function ignoreClientGone(): void {}

/** The longest first line. If a head is too large and its first line is longer than this, that line is named as the cause. */
const targetBytesMax = 8192;

interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

/** Refuses CONNECT like any unknown method, because the service offers no tunnels. RFC 9110 § 9.3.6. */
function answerConnect(listener: Listener, socket: Socket): void {
  listener.connections.upgrade(socket);
  const refusal = loggedRefusal(new ServiceError('method_not_allowed', 'This service is not a proxy.'), listener);
  const headers = { ...refusal.headers, allow: 'GET, HEAD, POST, DELETE, OPTIONS' };
  endWith(listener.connections, socket, { ...refusal, headers });
}

/**
 * Answers bytes that the parser could not read, unless an earlier request on the connection is unanswered: the client
 * would mistake this answer for the answer to the earlier request.
 */
function answerParserError(listener: Listener, error: ParserError, socket: Socket): void {
  const { connections } = listener;
  // After a request was refused because of its head, further bytes belong to that request.
  if (connections.isClosing(socket)) {
    connections.close(socket);
    return;
  }
  const answers = connections.answersOn(socket);
  const [answer] = answers;
  const isFree = answer === undefined || (answers.length === 1 && !answer.headersSent && !answer.req.complete);
  const isSilent = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' || error.code === 'ECONNRESET';
  if (isSilent || !socket.writable || !isFree) {
    socket.destroy();
    return;
  }
  const refusal = loggedRefusal(parserRefusal(error), listener);
  // The error has only the last read's bytes. So a HEAD request that came in several reads gets a body that it should not get.
  const isHead = answer === undefined ? error.rawPacket?.indexOf('HEAD ') === 0 : answer.req.method === 'HEAD';
  endWith(connections, socket, isHead ? { ...refusal, body: Buffer.alloc(0) } : refusal);
}

function parserRefusal({ code, rawPacket }: ParserError): ServiceError {
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    return new ServiceError('payload_too_large', 'The chunk extensions are too large.');
  }
  if (code !== 'HPE_HEADER_OVERFLOW') {
    return new ServiceError('invalid_request', 'The request is not well-formed HTTP/1.1.');
  }
  if (rawPacket !== undefined && isTargetTooLong(rawPacket)) {
    return new ServiceError('invalid_request', 'The request target is too long.');
  }
  return new ServiceError('head_too_large', 'The request head is too large.');
}

/** Whether the first line made the head too long. Only the first line begins with a method and a path. */
function isTargetTooLong(packet: Buffer): boolean {
  const lineEnd = packet.indexOf('\n');
  return /^[A-Z]{1,16} \//.test(packet.toString('latin1', 0, 18)) && (lineEnd < 0 || lineEnd > targetBytesMax);
}

/** Writes an answer directly to a socket that no longer belongs to the HTTP server, and closes the socket. */
function endWith(connections: Connections, socket: Socket, { status, headers, body }: Refusal): void {
  connections.close(socket);
  const lines = Object.entries({ ...headers, connection: 'close', date: new Date().toUTCString() });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.on('error', () => socket.destroy());
  socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 ${status} ${reasonOf(status)}\r\n${head}\r\n`), body]));
}

function reasonOf(status: number): string {
  return STATUS_CODES[status] ?? 'Refused';
}

function loggedRefusal(error: ServiceError, { log, observer }: Pick<Listener, 'log' | 'observer'>): Refusal {
  observer.headRefused(error.status);
  const refusal = refusalOf(error, { requestId: newRequestId(), hasToken: false });
  log.info(
    { request_id: refusal.headers['x-request-id'], status: error.status, refusal: error.code },
    'request refused',
  );
  return refusal;
}

export interface ListenOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
}

export interface Listening {
  readonly host: string;
  readonly port: number;
  /** `http://HOST:PORT`, with an IPv6 address in brackets. */
  readonly url: string;
}

/**
 * Begins to listen. Resolves once connections are accepted.
 *
 * @throws StartError, with a message of one line, if the address cannot be bound
 */
export async function listen(app: FastifyInstance, { host, port }: ListenOptions): Promise<Listening> {
  try {
    await app.listen({ host, port, listenTextResolver: () => 'listening' });
  } catch (cause) {
    throw bindError(cause, { host, port });
  }
  const address = app.server.address() as AddressInfo;
  return { host, port: address.port, url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}` };
}

function bindError(cause: unknown, { host, port }: ListenOptions): unknown {
  const code = (cause as NodeJS.ErrnoException | null)?.code ?? '';
  const known = BIND_PROBLEMS[code];
  if (known === undefined) return cause;
  return new StartError(`cannot listen on ${host}, port ${port}: ${known.problem}`, { hint: known.hint, cause });
}

const BIND_PROBLEMS: Readonly<Record<string, { problem: string; hint: string }>> = {
  EADDRINUSE: { problem: 'the port is in use', hint: 'stop what listens there or set SERVICE_PORT to another port' },
  EACCES: { problem: 'this user may not bind it', hint: 'set SERVICE_PORT to a port above 1023' },
  EADDRNOTAVAIL: { problem: 'this host has no such address', hint: 'set SERVICE_HOST to an address of this host' },
  ENOTFOUND: { problem: 'there is no such address', hint: 'set SERVICE_HOST to an address of this host' },
};
