/** A real HTTP server that gives scripted answers and remembers the requests. */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface ScriptedService extends AsyncDisposable {
  readonly server: Server;
  readonly baseUrl: string;
  readonly seen: readonly Seen[];
}

/** Each request gets the next answer. After the last answer, every further request gets the last answer again. */
export async function scriptedService(
  answers: readonly ((response: ServerResponse, request: Seen) => void)[],
): Promise<ScriptedService> {
  const seen: Seen[] = [];
  const answer: RequestListener = (request, response) => {
    const { method = '', url = '', headers } = request;
    void text(request).then((body) => {
      const entry = { method, url, headers, body };
      seen.push(entry);
      answers[Math.min(seen.length, answers.length) - 1]?.(response, entry);
    });
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    server,
    baseUrl: `http://127.0.0.1:${port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function json(value: unknown, status = 200, headers: Record<string, string> = {}) {
  return (response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
  };
}

export function refusal(status: number, code: string, headers: Record<string, string> = {}, retryable = true) {
  const error = { code, message: `refused with ${code}`, request_id: 'req_1', retryable };
  return json({ error }, status, { 'x-request-id': 'req_1', ...headers });
}

/** Declares a longer body than it sends, and then ends the connection. */
export function cutShort(body: string) {
  return (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length + 10 });
    response.write(body, () => response.socket?.end());
  };
}

/** Ends the connection without an answer. */
export function noAnswer(response: ServerResponse): void {
  response.socket?.destroy();
}
