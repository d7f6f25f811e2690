/** `vouchbox mcp`: offers a service's tools to agents, over stdio or over HTTP on loopback. */
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createServiceClient } from '@vouchbox/client';
import { EXIT } from '../failures/exit-code.ts';
import { UsageError } from '../failures/usage-error.ts';
import { clientEnvironment } from '../service/environment.ts';
import { DEFAULT_PROFILE, readProfiles } from '../service/profiles.ts';
import { type AccessOptions, checkAddress, namedService } from '../service/service-access.ts';
import { serviceOrOwn } from '../service/service-or-own.ts';
import { aborted, takeInterrupts, unlessInterrupted } from '../terminal/interrupts.ts';
import { type JsonOption, note, printResult } from '../terminal/print.ts';
import { type ConfiguredProgram, clientConfiguration } from './client-configuration.ts';
import { createServer } from './create-server.ts';
import { openHttpServer } from './http-server.ts';
import { packsOf } from './job-answer.ts';
import { checkAllowed, openOfferedTools, type ToolsFromOptions } from './tools-from/offered-tools.ts';

export interface McpOptions extends AccessOptions, JsonOption, ToolsFromOptions {
  /** Serves HTTP on this loopback port instead of stdio. */
  readonly http?: number;
  /** Files with PEM keys. One of these keys must have signed a result. */
  readonly publicKey: readonly string[];
}

/** How long a service may take to list its packs. After that, the agent gets the tools without the packs. */
const packsMillisecondsMax = 2000;

/** How long a server named by `--tools-from` may be silent. */
const toolMillisecondsMax = 60_000;

/** Serves until the client ends the connection or an interrupt comes. */
export async function mcp(options: McpOptions, version: string): Promise<number> {
  const pinned = options.publicKey.map((file) => readFileSync(file, 'utf8'));
  // Over HTTP, a caller has only the rights of its key, but tools would run with the rights of this server's user.
  if (options.http !== undefined && options.toolsFrom.length > 0)
    throw new UsageError('--tools-from is for stdio, where one agent is served; leave out --http');
  using interrupts = takeInterrupts();
  await using service = await serviceOrOwn(options, 'on');
  await using offered = await unlessInterrupted(interrupts.asked, (signal) =>
    openOfferedTools(options, { version, millisecondsMax: toolMillisecondsMax, signal }),
  );
  if (offered === null) return EXIT.cancelled;
  const keys = service.ownKey === null ? pinned : [(await service.client.publicKey()).public_key_pem];
  if (options.http === undefined) {
    await overStdio(async () => {
      const packs = await packsOf(service.client, AbortSignal.timeout(packsMillisecondsMax));
      return createServer({ client: service.client, version, pinned: keys, packs, offered });
    }, interrupts.asked);
    return EXIT.ok;
  }
  await using server = await openHttpServer({
    port: options.http,
    clientFor: (apiKey) => createServiceClient({ baseUrl: service.url, apiKey }),
    // A server is made for each request, so it gets no list of packs: the list would cost one more request.
    serverFor: (client) => createServer({ client, version, pinned: keys }),
  });
  note('callers send a key of the service as Authorization: Bearer KEY');
  if (service.ownKey !== null) note(`the key of this run: ${service.ownKey}`);
  printResult(options, `listening on ${server.url}\n`, { url: server.url });
  await aborted(interrupts.asked);
  return EXIT.ok;
}

/** Prints a snippet for a program's settings, and says on stderr where the snippet belongs. */
export async function mcpConfiguration(program: ConfiguredProgram, options: McpOptions): Promise<void> {
  const command = join(dirname(process.argv[1] ?? ''), 'vouchbox');
  const { url, profile } = configured(options);
  const { where, json } = clientConfiguration(program, { url, profile, command, options: passedOn(options) });
  note(`put this into ${where}`);
  if (options.key !== undefined)
    note('the key is left out, because many programs read such a file; give the key as SERVICE_KEY');
  if (url === null && profile === null) note(await ofOwnCells());
  process.stdout.write(`${json}\n`);
}

/** Says what this user lacks to start cells, because the program that gets the snippet would not say it. */
async function ofOwnCells(): Promise<string> {
  const { whyNeverCells } = await import('@vouchbox/server/administration');
  const why = whyNeverCells();
  const start = 'no service is named: that program starts cells itself';
  return why === null
    ? `${start}; if it runs as another user than you, \`vouchbox doctor\` shows whether that user can start cells`
    : `${start}, and you lack ${why.missing}: ${why.fix}; or name a service with --url or --profile`;
}

/** The snippet's options for tools and trusted keys. The command may start in any directory, so paths of files are absolute. */
function passedOn(options: McpOptions): readonly string[] {
  const { toolsFrom, allowTool, publicKey } = options;
  checkAllowed(options);
  if (toolsFrom.length > 0 && allowTool.length === 0)
    throw new UsageError('programs may call only allowed tools: give --allow-tool; `vouchbox mcp` names the tools');
  const keys = publicKey.map((file) => `--public-key=${resolve(file)}`);
  return [
    ...keys,
    ...toolsFrom.map((source) => `--tools-from=${source}`),
    ...allowTool.map((name) => `--allow-tool=${name}`),
  ];
}

/**
 * The address or the profile of the service that `vouchbox mcp` would call with these settings.
 * @throws UsageError if the profile is unknown, or if the options name two services
 */
function configured({ url, profile }: AccessOptions): { readonly url: string | null; readonly profile: string | null } {
  if (url !== undefined && profile !== undefined)
    throw new UsageError('--url and --profile name two services; give one');
  const environment = clientEnvironment();
  const address = url ?? (profile === undefined ? environment.url : null);
  if (address !== null) {
    checkAddress(address);
    return { url: address, profile: null };
  }
  const named = profile ?? environment.profile ?? (readProfiles().has(DEFAULT_PROFILE) ? DEFAULT_PROFILE : null);
  if (named !== null) namedService({ profile: named });
  return { url: null, profile: named };
}

/** Serves until stdin ends or an interrupt comes. Clients end a server by ending its stdin. */
async function overStdio(factory: () => Promise<McpServer>, asked: AbortSignal): Promise<void> {
  const connection = serveStdio(factory, { onerror: (error) => note(error.message) });
  const ended = new Promise<void>((resolve) => process.stdin.once('end', resolve).once('close', resolve));
  await Promise.race([ended, aborted(asked)]);
  await connection.close();
}
