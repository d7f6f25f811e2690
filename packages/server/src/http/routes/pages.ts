/**
 * Static pages for people, beside the contract's operations. Anyone may read them, because they contain no secret. A
 * page that needs a credential asks the reader for it. Spec § Endpoints: the dashboard shell.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendEmpty } from '../call/respond.ts';
import type { Page, PageFile } from '../pages/built-pages.ts';
import { hasIt } from '../request/etag.ts';
import { noSuchRoute } from '../request/target.ts';

/** Adds a route for each page, and one for everything below the page. Fastify answers HEAD as well. */
export function addPages(app: FastifyInstance, pages: readonly Page[]): void {
  for (const page of pages) {
    const sendHtml = (request: FastifyRequest, reply: FastifyReply, file: PageFile) =>
      sendFile(request, reply.headers({ ...HTML_HEADERS, 'content-security-policy': page.policy() }), file);
    app.get(page.path, (request, reply) => sendHtml(request, reply, page.html));
    // At an address with the slash, the page would look for its files at the wrong address.
    if (hasSlash(page)) app.get(`${page.path}/`, (_request, reply) => reply.redirect(`..${page.path}`, 308));
    if (!page.hasViews && page.files.size === 0) continue;
    app.get(`${page.path}/*`, (request, reply) => {
      const path = pathOf(request);
      const file = page.files.get(path) ?? (isView(path, page) ? page.html : null);
      if (file === null) throw noSuchRoute();
      if (file.mediaType.startsWith('text/html')) return sendHtml(request, reply, file);
      return sendFile(request, reply.headers(ASSET_HEADERS), file);
    });
  }
}

/** Whether a GET request for this path is answered with a page's file. */
export function isPagePath(path: string, pages: readonly Page[]): boolean {
  return pages.some((page) => isOwn(path, page) || page.files.has(path) || isView(path, page));
}

function isOwn(path: string, page: Page): boolean {
  return new RegExp(`^${page.path.replace(':link', '[^/]+')}${hasSlash(page) ? '/?' : ''}$`).test(path);
}

/** Whether the page may also be requested with a slash after its path, because people type it. */
function hasSlash({ hasViews, path }: Page): boolean {
  return !hasViews && /^\/\w+$/.test(path);
}

function isView(path: string, page: Page): boolean {
  return page.hasViews && path.startsWith(`${page.path}/`) && !path.startsWith(`${page.path}/assets/`);
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? '';
}

/** Headers that forbid other pages to show a page, to open it or to learn its address. */
export const ALONE = {
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** With these headers, browsers ask each time whether the HTML has changed, and seldom have to load it again. */
const HTML_HEADERS = { ...ALONE, 'cache-control': 'no-cache' };

/** A file's name changes with its content, so a copy in a cache never becomes wrong. RFC 8246. */
const ASSET_HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'cross-origin-resource-policy': 'same-origin',
};

function sendFile(request: FastifyRequest, reply: FastifyReply, file: PageFile): FastifyReply {
  const gzip = takesGzip(request.headers['accept-encoding']) ? file.gzip : null;
  const { bytes, etag } = (gzip ?? file.plain)();
  reply.header('etag', etag).header('vary', 'Accept-Encoding');
  if (hasIt(request.headers['if-none-match'], etag)) return sendEmpty(reply.code(304));
  if (gzip !== null) reply.header('content-encoding', 'gzip');
  return reply.header('content-type', file.mediaType).header('content-length', bytes.length).send(bytes);
}

/** Whether the client accepts gzip. A weight of zero means that it does not. RFC 9110 § 12.5.3. */
function takesGzip(acceptEncoding = ''): boolean {
  return acceptEncoding.split(',').some((coding) => /^\s*(x-)?gzip\s*(;(?!\s*q=0(\.0*)?\s*$)|$)/i.test(coding));
}
