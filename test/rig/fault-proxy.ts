/**
 * A proxy on loopback that passes requests to a service and causes the faults that a test asks for. It reads each body whole
 * before sending it, and connects the two ends of a stream. `clients/README.md` lists the faults.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';

/** An answer that the proxy gives instead of the service: a refusal with a `code`, or any other `body`. */
interface OwnAnswer {
  readonly status: number;
  readonly code?: string;
  readonly retry_after?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Fault {
  /** The operation, such as `GET /v1/jobs/{id}/result`. */
  readonly on: string;
  /** How many requests the fault affects. Default: 1. */
  readonly count?: number;
  readonly fault?: 'cut_request' | 'cut_answer' | 'truncate_answer' | 'spoil_answer' | 'hold_answer';
  readonly answer?: OwnAnswer;
  readonly without_features?: readonly string[];
  readonly without_headers?: readonly string[];
  readonly replace?: readonly [text: string, by: string];
}

/** One request that arrived. */
interface Seen {
  readonly operation: string;
  /** When the request arrived, in milliseconds of a monotonic clock. */
  readonly at: number;
  readonly key: string | undefined;
}

interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface FaultProxy extends AsyncDisposable {
  readonly url: string;
  readonly seen: readonly Seen[];
  /** Called when a request has arrived. */
  onRequest: (operation: string) => void;
  /** Called when an answer is held back. It is held until the proxy is closed. */
  onHeld: (operation: string) => void;
}

const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding', 'content-length'];

/** Opens a proxy in front of a service. */
export async function openFaultProxy(upstream: string, faults: readonly Fault[]): Promise<FaultProxy> {
  const left = faults.map((fault) => ({ fault, count: fault.count ?? 1 }));
  const seen: Seen[] = [];
  const arrive = ({ method = '', url = '', headers }: IncomingMessage) => {
    const operation = `${method} ${url.replace(/\?.*/, '').replace(/\/v1\/(jobs|gradings)\/[^/]+/, '/v1/$1/{id}')}`;
    seen.push({ operation, at: performance.now(), key: headers['idempotency-key'] as string | undefined });
    const found = left.find(({ fault, count }) => fault.on === operation && count > 0);
    if (found !== undefined) found.count--;
    proxy.onRequest(operation);
    return { operation, fault: found?.fault ?? { on: operation } };
  };
  const answer = async (incoming: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(incoming);
    const { operation, fault } = arrive(incoming);
    if (fault.fault === 'cut_request') return response.destroy();
    if (fault.answer !== undefined) return send(response, ownAnswer(fault.answer));
    // A held answer reaches no client. Its request goes on without the query (such as a wait), so the service answers at once.
    const path = fault.fault === 'hold_answer' ? incoming.url?.replace(/\?.*/, '') : incoming.url;
    const received = changed(fault, await forwarded(upstream + path, incoming, body));
    if (fault.fault === 'hold_answer') return proxy.onHeld(operation);
    if (fault.fault === 'cut_answer') return response.destroy();
    return send(response, received, fault.fault === 'truncate_answer');
  };
  const server = createServer((incoming, response) => {
    answer(incoming, response).catch(() => response.destroy());
  });
  // After a 401, Node repeats the request with the same ticket. The repeated request must get the same refusal.
  const refused = new Map<string | undefined, OwnAnswer>();
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex) => {
    const known = refused.get(incoming.url);
    const { answer: own = known, fault } = known === undefined ? arrive(incoming).fault : {};
    if (own === undefined) return join(upstream, incoming, socket, fault === 'cut_request');
    refused.set(incoming.url, own);
    socket.end(rawAnswer(ownAnswer(own)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: FaultProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    onRequest: () => {},
    onHeld: () => {},
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}

/** The service's whole answer to the request. */
async function forwarded(url: string, { method, headers }: IncomingMessage, body: Buffer): Promise<Received> {
  const kept = without(headers, [...HOP_BY_HOP, 'host']);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const length = body.length > 0 ? { 'content-length': body.length } : {};
    const asked = request(url, { method: method ?? 'GET', headers: { ...kept, ...length }, agent: false }, resolve);
    asked.on('error', reject).end(body);
  });
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
}

/** An answer, changed in the way that the fault demands. */
function changed(fault: Fault, { status, headers, body }: Received): Received {
  const { without_features, without_headers = [], replace } = fault;
  let text = body;
  if (without_features !== undefined) {
    const value = JSON.parse(String(body)) as { features: string[] };
    const features = value.features.filter((name) => !without_features.includes(name));
    text = Buffer.from(JSON.stringify({ ...value, features }));
  }
  if (replace !== undefined) text = Buffer.from(String(text).replaceAll(replace[0], replace[1]));
  if (fault.fault === 'spoil_answer') text = Buffer.concat([text.subarray(0, -1), Buffer.of((text.at(-1) ?? 0) ^ 1)]);
  return { status, headers: without(headers, [...HOP_BY_HOP, ...without_headers]), body: text };
}

function ownAnswer({ status, code, retry_after, headers = {}, body = '' }: OwnAnswer): Received {
  const error = { code, message: 'A fault.', request_id: 'req_0', retryable: status === 429 || status === 503 };
  return {
    status,
    headers: { ...headers, ...(retry_after !== undefined && { 'retry-after': String(retry_after) }) },
    body: Buffer.from(code === undefined ? body : JSON.stringify({ error })),
  };
}

/** Sends an answer. If it is to be truncated, sends the whole head and half of the body. */
function send(response: ServerResponse, { status, headers, body }: Received, isTruncated = false): void {
  response.writeHead(status, { ...headers, 'content-length': body.length });
  if (!isTruncated) response.end(body);
  else response.write(body.subarray(0, body.length / 2), () => response.destroy());
}

function rawAnswer({ status, headers, body }: Received): string {
  const lines = Object.entries({ ...headers, 'content-length': body.length }).map(
    ([name, value]) => `${name}: ${String(value)}`,
  );
  return `HTTP/1.1 ${status} Refused\r\n${lines.join('\r\n')}\r\nconnection: close\r\n\r\n${String(body)}`;
}

/** Connects the two ends of a stream. A cut stream ends at the client's first message, which the service does not get. */
function join(upstream: string, { url = '', headers }: IncomingMessage, socket: Duplex, isCut: boolean): void {
  const asked = request(upstream + url, { headers: without(headers, ['host']), agent: false });
  asked.on('upgrade', ({ statusCode, statusMessage, rawHeaders }, other, head) => {
    const lines = rawHeaders.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`));
    socket.write(`HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join('')}\r\n`);
    socket.write(head);
    socket.on('error', () => other.destroy()).on('close', () => other.destroy());
    other.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    other.pipe(socket);
    if (isCut) socket.once('data', () => socket.destroy());
    else socket.pipe(other);
  });
  asked.on('response', (response) => {
    const { statusCode: status = 0, headers: received } = response;
    const relay = (body: Buffer) => socket.end(rawAnswer({ status, headers: without(received, HOP_BY_HOP), body }));
    buffer(response).then(relay, () => socket.destroy());
  });
  asked.on('error', () => socket.destroy()).end();
}

function without(headers: IncomingHttpHeaders, names: readonly string[]): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}
