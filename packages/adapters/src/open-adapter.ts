/**
 * The HTTP server of one adapter, on loopback or protected by a key. For the service, the adapter is one caller. Whoever calls
 * the adapter can do only what this one caller may do.
 */
import { timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { ServiceClient } from '@vouchbox/client';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Adapter } from './adapter.ts';
import { AdapterError, adapterErrorOf, isServices } from './adapter-error.ts';
import { EqualBuilds } from './equal-builds.ts';
import { judge0 } from './judge0/routes.ts';
import { Languages, type Runtimes, runtimesProblem } from './languages.ts';
import { boundOpenRequests, OPEN_REQUESTS_MAX, type OpenRequestsMax } from './open-requests.ts';
import { piston } from './piston/routes.ts';
import { sandboxFusion } from './sandbox-fusion/routes.ts';

const ADAPTERS = { piston, judge0, 'sandbox-fusion': sandboxFusion } as const;
export type AdapterName = keyof typeof ADAPTERS;

export interface AdapterOptions {
  readonly client: ServiceClient;
  readonly host: string;
  /** The port; 0 for any free port. */
  readonly port: number;
  /** The credential that callers must send. Null admits every caller on this host, and is allowed only on loopback. */
  readonly key: string | null;
  /** The packs in which programs run, keyed by language. For any other language, the service chooses the pack. */
  readonly runtimes?: Runtimes;
  /** The most requests that may wait here at once. */
  readonly openMax?: OpenRequestsMax;
  /** Called with one line for each error that the caller did not cause. */
  readonly onFailure?: (line: string) => void;
}

export interface OpenAdapter extends AsyncDisposable {
  readonly url: string;
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

/** Whether only this host can reach a server that listens on this address. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host);
}

/** The most bytes of a body: room for a program of 1 MiB and files of 4 MiB, escaped or in base64. */
const bodyBytesMax = 16 * 1024 * 1024;

/** @throws AdapterError if other hosts could call the adapter without a key, or if a given pack does not exist */
export async function openAdapter(name: AdapterName, options: AdapterOptions): Promise<OpenAdapter> {
  const { client, host, port, key, runtimes = {}, openMax = OPEN_REQUESTS_MAX, onFailure } = options;
  if (key === null && !isLoopback(host)) {
    throw new AdapterError(500, `${host} can be reached from elsewhere: give a key that callers must send`);
  }
  const adapter: Adapter = ADAPTERS[name];
  const languages = new Languages(client, runtimes);
  const problem = Object.keys(runtimes).length === 0 ? null : await runtimesProblem(runtimes, languages);
  if (problem !== null) throw new AdapterError(422, problem, 'runtimes');
  // The other systems accept a slash at the end of a path, and callers send both forms.
  const routerOptions = { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true };
  const app = fastify({ bodyLimit: bodyBytesMax, forceCloseConnections: true, routerOptions });
  readAsJson(app);
  app.addHook('onRequest', async (request) => admit(request, { key, keyHeader: adapter.keyHeader ?? null }));
  boundOpenRequests(app, openMax);
  const noteFailure = (request: FastifyRequest, error: AdapterError) => {
    if (isServices(error)) onFailure?.(failureLine(request, error));
  };
  app.setErrorHandler(async (error, request, reply) => {
    const said = adapterErrorOf(error);
    noteFailure(request, said);
    if (said.retryAfterSeconds !== null) void reply.header('retry-after', said.retryAfterSeconds);
    await reply.status(adapter.statusOf(said)).send(adapter.errorBody(said));
  });
  app.setNotFoundHandler(async (_request, reply) => {
    await reply.status(404).send(adapter.errorBody(new AdapterError(404, 'there is no such route here')));
  });
  adapter.routes(app, { client, languages, builds: new EqualBuilds(), noteFailure });
  await app.listen({ host, port });
  const { port: taken } = app.server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    [Symbol.asyncDispose]: () => app.close(),
  };
}

/** Reads every body as JSON, since clients of these interfaces send JSON under other media types, or none. */
function readAsJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, parse);
}

/**
 * Admits a request. Without a key, every program on this host may call, but no page in a browser may. Requests
 * from a page can be recognised: they name the page's origin, or address this host by another name.
 */
function admit(request: FastifyRequest, { key, keyHeader }: { key: string | null; keyHeader: string | null }): void {
  const { authorization, origin, host = '' } = request.headers;
  if (key === null) {
    if (origin !== undefined && !isLoopbackOrigin(origin))
      throw new AdapterError(403, `pages of ${origin} may not call this adapter`);
    if (!isLoopback(host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')))
      throw new AdapterError(403, 'call this adapter as 127.0.0.1');
    return;
  }
  const named = keyHeader === null ? undefined : request.headers[keyHeader];
  const given = typeof named === 'string' ? named : /^Bearer (.+)$/i.exec(authorization ?? '')?.[1];
  if (given === undefined || !isSame(given, key)) throw new AdapterError(401, 'send the key of this adapter');
}

function isLoopbackOrigin(origin: string): boolean {
  return URL.canParse(origin) && isLoopback(new URL(origin).hostname.replace(/^\[|\]$/g, ''));
}

function isSame(given: string, key: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(key)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** One line: the request, the status of its answer, the adapter's message, and the message from the cause. */
function failureLine({ method, url }: FastifyRequest, { status, message, cause }: AdapterError): string {
  const why = cause instanceof Error && cause.message !== message ? `${message}: ${cause.message}` : message;
  return `${method} ${url.split('?')[0]} was answered with ${status}: ${why}`;
}
