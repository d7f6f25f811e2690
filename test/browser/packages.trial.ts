/**
 * A page in Chromium imports the packed files of the client and of the verifier. The page and the service have different
 * origins. The service's proxy allows the page's origin as docs/operating/proxy.md says.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildPackages } from '../../tools/packages/build-packages.ts';
import { type Browser, openBrowser, openPage, type WatchedPage } from '../rig/browser.ts';
import { vouchbox } from '../rig/command.ts';
import { Rig } from '../rig/rig.ts';

const scratch = mkdtempSync(join(tmpdir(), 'svc-packed-'));
const packages = join(scratch, 'packages');
/** The directory that has the only third-party package that the verifier needs. */
const installed = join(import.meta.dirname, '../../node_modules');
const servers: Server[] = [];
let rig: Rig;
let browser: Browser;
let origin: string;
let proxied: string;

beforeAll(async () => {
  await buildPackages(packages, { natives: false });
  origin = await listening(createServer(servePage));
  rig = await Rig.start({ 'attestation-mode': 'on', 'allowed-origins': origin });
  proxied = await listening(createServer(passOn).on('upgrade', passUpgrade));
  browser = await openBrowser();
}, 240_000);
afterAll(async () => {
  await browser.close();
  for (const server of servers) server.close();
  rmSync(scratch, { recursive: true });
  expect(await rig.stop()).toEqual([]);
});

async function listening(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type Target = string | { readonly default: string };

/**
 * The import map that a bundler would make from the manifests. It maps each name that a package exports or uses
 * internally to a file.
 */
function importMap(): string {
  const imports = readdirSync(packages).flatMap((folder) => {
    const text = readFileSync(join(packages, folder, 'package.json'), 'utf8');
    const manifest = JSON.parse(text) as { name: string; exports: object; imports?: object };
    const fileOf = (target: Target) => `/${folder}${(typeof target === 'string' ? target : target.default).slice(1)}`;
    return [
      ...Object.entries<Target>({ ...manifest.exports }).map(([path, target]) => [
        manifest.name + path.slice(1),
        fileOf(target),
      ]),
      ...Object.entries<Target>({ ...manifest.imports }).map(([name, target]) => [name, fileOf(target)]),
    ];
  });
  const others = {
    canonicalize: '/installed/canonicalize/lib/canonicalize.js',
    '@noble/hashes/': '/installed/@noble/hashes/',
  };
  return JSON.stringify({ imports: { ...Object.fromEntries(imports), ...others } as object });
}

/** Serves a page whose script imports both packages, and serves the files of these packages. */
function servePage({ url = '/' }: IncomingMessage, response: ServerResponse): void {
  if (url === '/favicon.ico') return void response.writeHead(204).end();
  if (url !== '/') return void response.writeHead(200, { 'content-type': 'text/javascript' }).end(read(url));
  const script = `import * as client from '@vouchbox/client'; import * as verifier from '@vouchbox/verifier';
    Object.assign(globalThis, { client, verifier });`;
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end(`<script type="importmap">${importMap()}</script><script type="module">${script}</script>`);
}

function read(url: string): Buffer {
  if (url.startsWith('/installed/')) return readFileSync(join(installed, url.slice('/installed'.length)));
  return readFileSync(join(packages, new URL(url, origin).pathname));
}

/** The headers that docs/operating/proxy.md names for pages from another origin. */
function allowance(): Record<string, string> {
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, POST, DELETE',
    'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key',
    'access-control-expose-headers': 'Idempotency-Replayed, Retry-After, X-Content-Sha256, X-Request-Id',
    vary: 'Origin',
  };
}

function passOn(asked: IncomingMessage, response: ServerResponse): void {
  if (asked.method === 'OPTIONS') return void response.writeHead(204, allowance()).end();
  const { method, headers } = asked;
  const passed = request(new URL(asked.url ?? '/', rig.service.url), { method: method ?? 'GET', headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...allowance() });
    answer.pipe(response);
  });
  passed.on('error', () => response.destroy());
  asked.pipe(passed);
}

function passUpgrade({ method, url, rawHeaders }: IncomingMessage, socket: Duplex, head: Buffer): void {
  const upstream = connect(rig.port, '127.0.0.1');
  const lines = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1]}`] : []));
  upstream.write(`${method} ${url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  upstream.write(head);
  for (const [one, other] of [
    [socket, upstream],
    [upstream, socket],
  ] as const) {
    one.on('error', () => other.destroy()).pipe(other);
  }
}

/** Runs code in the page. There, `client` and `verifier` are the exports of the two packages. */
async function inPage({ page, troubles }: WatchedPage, code: string, given: object): Promise<unknown> {
  const isReady = () => page.evaluate('globalThis.verifier !== undefined');
  await expect.poll(async () => troubles.length > 0 || (await isReady())).toBe(true);
  expect(troubles).toEqual([]);
  return await page.evaluate(`(async (given) => { ${code} })(${JSON.stringify(given)})`);
}

test('the packed client runs a program from a page with another origin, and follows the job by a stream', async () => {
  await using opened = await openPage(browser, origin);
  const ran = await inPage(
    opened,
    `const said = [], states = [];
     const it = client.createServiceClient({ baseUrl: given.url, apiKey: given.key });
     const { status, stdout, job_id } = await it.run('print("from a page")', {
       onStdout: (text) => said.push(text), onState: (state) => states.push(state),
     });
     const { receipt_sha256 } = await it.verify(job_id);
     return { status, stdout, said, states, isVerified: receipt_sha256 === (await it.detail(job_id)).receipt_sha256 };`,
    { url: proxied, key: rig.alpha.key },
  );
  expect(ran).toEqual({
    status: 'succeeded',
    stdout: 'from a page\n',
    said: ['from a page\n'],
    states: ['connecting', 'live', 'closed'],
    isVerified: true,
  });
  expect(opened.requests.filter((address) => !address.startsWith(origin) && !address.startsWith(proxied))).toEqual([]);
  expect(opened.troubles).toEqual([]);
});

test('the packed verifier checks an export in a page, and refuses a changed export', async () => {
  const { job_id } = await rig.run({ language: 'python', code: 'print("signed")' });
  const directory = join(scratch, job_id);
  const access = ['--url', rig.service.url, '--key', rig.alpha.key];
  expect(await vouchbox(['export', job_id, '--output', directory, ...access])).toMatchObject({ code: 0 });
  const names = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = names.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return [path.slice(directory.length + 1), readFileSync(path).toString('base64')];
  });
  const { public_key_pem } = await rig.alpha.client.publicKey();
  await using opened = await openPage(browser, origin);
  const verified = await inPage(
    opened,
    `const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
     const files = new Map(given.files.map(([path, content]) => [path, bytes(content)]));
     const options = { publicKeys: [given.pem], tenant: 'alpha' };
     const codes = [(await verifier.verifyExport(verifier.parseExport(files), options)).exitCode];
     files.get('events.ndjson')[40] ^= 1;
     codes.push((await verifier.verifyExport(verifier.parseExport(files), options)).exitCode);
     return codes;`,
    { files, pem: public_key_pem },
  );
  expect(verified).toEqual([0, 6]);
  expect(opened.troubles).toEqual([]);
});
