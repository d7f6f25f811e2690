/** `vouchbox mcp`: the tools of a service for agents, over stdio or over HTTP on loopback. */
import { readFileSync } from 'node:fs';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createServiceClient } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
import { clientEnvironment } from '../environment.ts';
import { EXIT } from '../exit-code.ts';
import { takeInterrupts } from '../interrupts.ts';
import { type AccessOptions, namedService, type ServiceAccess } from '../service-access.ts';
import { UsageError } from '../usage-error.ts';
import { clientConfiguration } from './client-configuration.ts';
import { createServer } from './create-server.ts';
import { openHttpServer } from './http-server.ts';

export interface McpOptions extends AccessOptions {
  /** Serves HTTP on this port of loopback in place of stdio. */
  readonly http?: string;
  /** Files with PEM keys that results must be signed by. */
  readonly publicKey: readonly string[];
}

/** A service to call, with the address that other keys can be used at. */
interface Service extends ServiceAccess {
  readonly url: string;
  /** The key of a service that was started here; null for one that was named. */
  readonly ownKey: string | null;
}

/** Serves until its client goes away or an interrupt ends it. */
export async function mcp(options: McpOptions, version: string): Promise<number> {
  const port = options.http === undefined ? null : portOf(options.http);
  const pinned = options.publicKey.map((file) => readFileSync(file, 'utf8'));
  using interrupts = takeInterrupts();
  await using service = await openService(options);
  const keys = service.ownKey === null ? pinned : [(await service.client.publicKey()).public_key_pem];
  if (port === null) {
    await overStdio(() => createServer({ client: service.client, version, pinned: keys }), interrupts.asked);
    return EXIT.ok;
  }
  await using server = await openHttpServer({
    port,
    clientFor: (apiKey) => createServiceClient({ baseUrl: service.url, apiKey }),
    serverFor: (client) => createServer({ client, version, pinned: keys }),
  });
  note('callers send a key of the service as Authorization: Bearer KEY');
  if (service.ownKey !== null) note(`the key of this run: ${service.ownKey}`);
  process.stdout.write(`listening on ${server.url}\n`);
  await aborted(interrupts.asked);
  return EXIT.ok;
}

/** Prints what to paste into a program's settings; where it belongs goes to stderr. */
export function mcpConfiguration(program: string, options: AccessOptions): number {
  const { where, json } = clientConfiguration(program, { url: options.url ?? clientEnvironment().url });
  note(`put this into ${where}`);
  process.stdout.write(`${json}\n`);
  return EXIT.ok;
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new UsageError(`--http takes a port, not ${text}`);
  return port;
}

async function openService(options: AccessOptions): Promise<Service> {
  const named = namedService(options);
  if (named !== null) {
    const url = options.url ?? clientEnvironment().url ?? '';
    return { client: named.client, url, ownKey: null, [Symbol.asyncDispose]: () => named[Symbol.asyncDispose]() };
  }
  note('no service is named: starting one for as long as this command runs');
  const { openEmbeddedService } = await import('../embedded-service.ts');
  const own = await openEmbeddedService({ signing: 'on' });
  return { client: own.client, url: own.url, ownKey: own.key, [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() };
}

/** Until stdin ends, as clients end a server, or an interrupt comes. */
async function overStdio(factory: () => ReturnType<typeof createServer>, asked: AbortSignal): Promise<void> {
  const connection = serveStdio(factory, { onerror: (error) => note(error.message) });
  const ended = new Promise<void>((resolve) => process.stdin.once('end', resolve).once('close', resolve));
  await Promise.race([ended, aborted(asked)]);
  await connection.close();
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** stdout belongs to the protocol. */
function note(line: string): void {
  process.stderr.write(`vouchbox: ${printable(line)}\n`);
}
