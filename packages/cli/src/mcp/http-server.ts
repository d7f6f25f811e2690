/**
 * MCP over streamable HTTP, on loopback, at `/mcp`. Each request has one of the service's keys as its bearer token, and has that
 * key's rights. This server has no rights of its own.
 */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { type AuthInfo, createMcpHandler, type McpServer } from '@modelcontextprotocol/server';
import { type ServiceClient, ServiceFailure } from '@vouchbox/client';

export interface HttpOptions {
  /** 0 for any free port. */
  readonly port: number;
  /** Makes a client of the service with this key. */
  readonly clientFor: (key: string) => ServiceClient;
  readonly serverFor: (client: ServiceClient) => McpServer;
}

export interface HttpServer extends AsyncDisposable {
  readonly url: string;
}

const PATH = '/mcp';

/** The most bytes of a body: enough for 4 MiB of input files, in base64 and JSON, and for a program of 1 MiB. */
const bodyBytesMax = 12 * 1024 * 1024;

/** Listens on 127.0.0.1. Disposing ends every connection. */
export async function openHttpServer({ port, clientFor, serverFor }: HttpOptions): Promise<HttpServer> {
  const handler = createMcpHandler(({ authInfo }) => serverFor(clientFor(authInfo?.token ?? '')), {
    maxRequestBodySize: bodyBytesMax,
  });
  const serve = toNodeHandler(handler);
  const [isOurHost, isOurOrigin] = [localhostHostValidation(), localhostOriginValidation()];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (!isOurHost(request, response) || !isOurOrigin(request, response)) return;
    if (new URL(request.url ?? '/', 'http://localhost').pathname !== PATH) return refuse(response, 404, 'not found');
    const caller = await callerOf(request, clientFor);
    if ('status' in caller) return refuse(response, caller.status, caller.message);
    await serve(Object.assign(request, { auth: caller }) as Parameters<typeof serve>[0], response);
  };
  const server = createHttpServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`,
    async [Symbol.asyncDispose]() {
      await handler.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Refused {
  readonly status: number;
  readonly message: string;
}

/** Asks the service who owns the request's key. The owner is the caller. */
async function callerOf(
  { headers: { authorization } }: IncomingMessage,
  clientFor: HttpOptions['clientFor'],
): Promise<AuthInfo | Refused> {
  const [, token] = /^Bearer ([\x21-\x7e]+)$/i.exec(authorization ?? '') ?? [];
  if (token === undefined) return { status: 401, message: 'send a key of the service as Authorization: Bearer KEY' };
  try {
    const { principal, scopes } = await clientFor(token).whoami();
    return { token, clientId: principal, scopes: [...scopes] };
  } catch (error) {
    if (error instanceof ServiceFailure) return { status: error.status, message: error.message };
    return { status: 502, message: "the service's answer cannot be used" };
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const challenge = status === 401 ? { 'www-authenticate': 'Bearer realm="svc"' } : {};
  response.writeHead(status, { 'content-type': 'application/json', ...challenge });
  response.end(JSON.stringify({ error: message }));
}
