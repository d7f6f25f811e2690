/** How `routes/pages.ts` serves static pages, tested with pages that the test makes. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rawAnswers, rawExchange } from '../../../../../test/rig/raw-http.ts';
import { MARK } from '../../../../../tools/pages/mark.ts';
import { listBuiltPages } from '../pages/built-pages.ts';
import { openServer, type TestServer } from '../server.fixture.ts';

const OWN_POLICY = "default-src 'none'; script-src 'sha256-abc='";
const VERIFY = `<!doctype html><head><meta http-equiv="Content-Security-Policy" content="${OWN_POLICY}"></head>`;
const DOCUMENT = '<!doctype html><title>Start</title>';
const SCRIPT = 'export const answer = 42;\n'.repeat(100);

const built = mkdtempSync(join(tmpdir(), 'vouchbox-pages-'));
let server: TestServer;

beforeAll(async () => {
  write('verify-page/index.html', VERIFY);
  write('dashboard/index.html', '<!doctype html><title>Dashboard</title>');
  write('dashboard/assets/main-1a2b.js', SCRIPT);
  write('dashboard/assets/main-1a2b.js.gz', gzipSync(SCRIPT));
  write('dashboard/secret.txt', 'not a file of the page');
  write('docs-site/front.html', '<!doctype html><title>All documents</title>');
  write('docs-site/operating/start.html', DOCUMENT);
  write('docs-site/operating/start.html.gz', gzipSync(DOCUMENT));
  write('docs-site/assets/walls-1a2b.svg', '<svg/>');
  server = await openServer({ pages: listBuiltPages(built) });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(built, { recursive: true });
});

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(join(built, path, '..'), { recursive: true });
  writeFileSync(join(built, path), content);
}

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(server.url + path, { headers });
}

describe('the HTML of a built page', () => {
  test('is public, and its policy forbids everything by default, including frames', {
    tags: ['Pages-2', 'Pages-3'],
  }, async () => {
    const response = await get('/dashboard');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; .*; frame-ancestors 'none'$/);
    expect(policy).not.toContain('unsafe');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'x-request-id': expect.any(String),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-cache',
    });
  });

  test('has the page’s own policy if the page contains one, and still forbids frames', async () => {
    const response = await get('/verify');
    expect(response.headers.get('content-security-policy')).toBe(`${OWN_POLICY}; frame-ancestors 'none'`);
    expect(await response.text()).toBe(VERIFY);
  });

  test('is answered 304 to a client that already has it', { tags: ['Pages-2'] }, async () => {
    const etag = (await get('/verify')).headers.get('etag') ?? '';
    const again = await get('/verify', { 'if-none-match': `"other", W/${etag}` });
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
    expect((await get('/verify', { 'if-none-match': '"other"' })).status).toBe(200);
  });

  test('is answered at the address of each view of the page, if the page has views', async () => {
    expect(await (await get('/dashboard/jobs/job_1?x=1')).text()).toContain('<title>Dashboard</title>');
    expect((await get('/verify/jobs')).status).toBe(404);
  });
});

describe('a file that a page loads', () => {
  test('may be kept in caches forever, since the file name changes with the content', {
    tags: ['Pages-3'],
  }, async () => {
    const response = await get('/dashboard/assets/main-1a2b.js');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding',
    });
    expect(await response.text()).toBe(SCRIPT);
  });

  test.each([
    ['gzip', true],
    ['br, gzip;q=0.5', true],
    ['br', false],
    ['gzip;q=0', false],
    ['gzip;q=0.0, br', false],
  ])('is compressed for a client with Accept-Encoding %s: %s', async (coding, isCompressed) => {
    const head = `GET /dashboard/assets/main-1a2b.js HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${coding}\r\nConnection: close\r\n\r\n`;
    const bytes = await rawExchange(server.port, head);
    const body = bytes.subarray(bytes.indexOf('\r\n\r\n') + 4);
    expect(bytes.toString('latin1').includes('content-encoding: gzip')).toBe(isCompressed);
    expect((isCompressed ? gunzipSync(body) : body).toString()).toBe(SCRIPT);
  });
});

test('each form of a file has its own ETag, so that a client with one form still gets the other', {
  tags: ['Pages-2'],
}, async () => {
  const ask = async (coding: string, tag = '"none"') => {
    const head = `HEAD /docs/operating/start.html HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${coding}\r\nIf-None-Match: ${tag}\r\nConnection: close\r\n\r\n`;
    const answer = (await rawExchange(server.port, head)).toString('latin1');
    expect(answer).toMatch(/^vary: Accept-Encoding\r$/im);
    return { status: answer.slice(9, 12), tag: /^etag: (.*)\r$/im.exec(answer)?.[1] ?? '' };
  };
  const gzip = await ask('gzip');
  const plain = await ask('identity');
  expect(gzip.tag).not.toBe(plain.tag);
  expect([await ask('gzip', gzip.tag), await ask('identity', plain.tag)]).toEqual([
    { ...gzip, status: '304' },
    { ...plain, status: '304' },
  ]);
  expect([await ask('gzip', plain.tag), await ask('identity', gzip.tag)]).toEqual([gzip, plain]);
});

describe('the documents', () => {
  test('have an overview at their own address and below it a page for each document, all with the policy of pages', {
    tags: ['Pages-2'],
  }, async () => {
    expect(await (await get('/docs')).text()).toContain('All documents');
    const response = await get('/docs/operating/start.html');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': expect.stringMatching(/^default-src 'none'; .*; frame-ancestors 'none'$/),
      'cache-control': 'no-cache',
    });
    expect(await response.text()).toBe(DOCUMENT);
  });

  test('load their files under names that change with the content', { tags: ['Pages-3'] }, async () => {
    const { headers } = await get('/docs/assets/walls-1a2b.svg');
    expect([headers.get('content-type'), headers.get('cache-control')]).toEqual([
      'image/svg+xml',
      'public, max-age=31536000, immutable',
    ]);
  });

  test('redirect from their address with a final slash to the address without it', {
    tags: ['Pages-2a'],
  }, async () => {
    for (const page of ['/docs', '/verify']) {
      const { status, headers } = await fetch(`${server.url}${page}/`, { redirect: 'manual' });
      expect([page, status, headers.get('location')]).toEqual([page, 308, `..${page}`]);
      expect((await get(`${page}/`)).status).toBe(200);
    }
  });

  test('answer 404 at an unknown address below their own address', async () => {
    const paths = ['/docs/front.html', '/docs/operating', '/docs/operating/start.html.gz', '/docs/none.html'];
    expect(await Promise.all(paths.map(async (path) => (await get(path)).status))).toEqual(paths.map(() => 404));
  });

  test('are sent uncompressed to a client that accepts no compression', async () => {
    const head = 'GET /docs/operating/start.html HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
    const [answer] = rawAnswers(await rawExchange(server.port, head));
    expect(answer?.body).toBe(DOCUMENT);
  });
});

describe('no path of a request reaches the file system', () => {
  test.each([
    '/dashboard/assets/none.js',
    '/dashboard/assets/main-1a2b.js.gz',
    '/dashboard/assets/../secret.txt',
    '/dashboard/assets/%2e%2e/secret.txt',
    '/dashboard/assets/..%2fsecret.txt',
    '/verify/../dashboard/secret.txt',
  ])('the path %s does not name a file', async (path) => {
    const head = `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
    const [answer] = rawAnswers(await rawExchange(server.port, head));
    expect([answer?.status, answer?.body]).toEqual([404, expect.stringContaining('route_not_found')]);
  });
});

test('a page answers HEAD and OPTIONS, and refuses other methods with a list of the allowed ones', async () => {
  const head = await fetch(`${server.url}/verify`, { method: 'HEAD' });
  expect([head.status, Number(head.headers.get('content-length'))]).toEqual([200, VERIFY.length]);
  const options = await fetch(`${server.url}/dashboard/jobs`, { method: 'OPTIONS' });
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  const refused = await fetch(`${server.url}/dashboard`, { method: 'POST', body: 'x' });
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
});

test('a file is read at the first request for it and then kept, and a read that failed is tried again', async () => {
  const [name, path] = ['docs-site/late.html', '/docs/late.html'];
  write(name, 'as listed');
  await using later = await openServer({ pages: listBuiltPages(built) });
  const ask = async () => {
    const answer = await fetch(later.url + path);
    return [answer.status, answer.ok ? await answer.text() : ''];
  };
  rmSync(join(built, name));
  expect(await ask()).toEqual([500, '']);
  write(name, 'as read');
  expect(await ask()).toEqual([200, 'as read']);
  write(name, 'as changed');
  expect(await ask()).toEqual([200, 'as read']);
  rmSync(join(built, name));
});

test('a service whose pages were not built has no route for a page', { tags: ['Pages-4'] }, async () => {
  await using bare = await openServer();
  expect((await fetch(`${bare.url}/verify`)).status).toBe(404);
  expect(listBuiltPages(join(built, 'none'))).toEqual([]);
});

describe('the front page of the service', () => {
  const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';

  test('shows a browser links to the existing pages, under a policy that allows its one style', {
    tags: ['Pages-1a'],
  }, async () => {
    const response = await get('/', { accept: BROWSER });
    expect([response.headers.get('content-type'), response.headers.get('vary')]).toEqual([
      'text/html; charset=utf-8',
      'Accept',
    ]);
    const html = await response.text();
    expect([...html.matchAll(/<a href="([^"]*)"/g)].map(([, href]) => href)).toEqual([
      '/dashboard',
      '/verify',
      '/docs',
      '/openapi.json',
    ]);
    const [, style = ''] = /<style>([\s\S]*)<\/style>/.exec(html) ?? [];
    const digest = createHash('sha256').update(style).digest('base64');
    expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/);
    expect(response.headers.get('content-security-policy')).toContain(`style-src 'sha256-${digest}'`);
  });

  test('has the same mark and the same design values as the built pages', async () => {
    const html = await (await get('/', { accept: BROWSER })).text();
    const tokens = readFileSync(join(import.meta.dirname, '../../../../../tools/pages/tokens.css'), 'utf8');
    const [own = [], used = []] = [/--[\w-]+: [^;]+;/g, /(?<=var\()--[\w-]+/g].map((form) => html.match(form) ?? []);
    expect(own.filter((token) => !tokens.includes(token))).toEqual([]);
    expect(new Set(own.map((token) => token.split(':')[0]))).toEqual(new Set(used));
    expect(html).toContain(`<path d="${MARK}"/>`);
  });

  test.each(['*/*', 'application/json', 'text/html;q=0.5, application/json', 'image/png', ''])(
    'answers JSON to a client that accepts %j',
    async (accept) => {
      const response = await get('/', { accept });
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(await response.json()).toMatchObject({ name: 'Vouchbox', contract: '/openapi.json' });
    },
  );

  test('has links only to pages that were built', async () => {
    await using bare = await openServer();
    const html = await (await fetch(bare.url, { headers: { accept: BROWSER } })).text();
    expect([...html.matchAll(/<a href="([^"]*)"/g)].map(([, href]) => href)).toEqual(['/openapi.json']);
  });
});
