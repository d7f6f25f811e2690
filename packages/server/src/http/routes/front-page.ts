/**
 * The answer to `GET /`: a description of this service, and the address of its contract. To a browser it is a page for people who
 * open the address, to every other client JSON. It says nothing of this service that the public operations do not say. Spec §
 * Pages.
 */
import { hash } from 'node:crypto';
import { ENDPOINTS, PAGES } from '@vouchbox/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import type { Page } from '../pages/built-pages.ts';
import { ALONE } from './pages.ts';

export const FRONT_PATH = PAGES.getFrontPage.path;

const FRONT = {
  name: 'Vouchbox',
  description: 'Runs short, untrusted programs in isolation and signs what happened.',
  contract: ENDPOINTS.getContract.path,
  health: ENDPOINTS.getHealth.path,
  readiness: ENDPOINTS.getReadiness.path,
  authentication: 'Paths under /v1 take Authorization: Bearer KEY.',
};

const JSON_TYPE = 'application/json';
const HTML_TYPE = 'text/html; charset=utf-8';

const BYTES = Buffer.from(`${JSON.stringify(FRONT, null, 2)}\n`);

const STYLE = `
:root { color-scheme: light dark; background: light-dark(#f7f7f5, #131517); color: light-dark(#1d2024, #e8eaec) }
body { max-width: 36rem; margin: 12vh auto 0; padding: 0 1.25rem; font: 1rem/1.6 system-ui, sans-serif }
a { color: light-dark(#1f5f6b, #86c5d0) }
dt { margin-top: 1rem; font-weight: 600 }
dd { margin: 0 }
code { font-family: ui-monospace, monospace }
`;

/** The pages that the front page lists: path, name and purpose of each. */
const WAYS = [
  [
    PAGES.getDashboard.path,
    'Dashboard',
    'Write and run programs, look through jobs, see how the service is doing. It asks for a key.',
  ],
  [
    PAGES.getVerifyPage.path,
    'Verify',
    'Check a result that somebody gave you. It needs no key of this service, and sends nothing.',
  ],
  [PAGES.getDocs.path, 'Documents', 'How to begin, how it works, and every operation of the interface.'],
] as const;

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

function htmlOf(pages: readonly Page[]): Buffer {
  const ways = WAYS.filter(([path]) => pages.some((page) => page.path === path));
  const rows = ways.map(([path, name, what]) => `<dt><a href="${path}">${name}</a></dt><dd>${what}</dd>`);
  return Buffer.from(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${FRONT.name}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${FRONT.name}</h1>
<p>${FRONT.description}</p>
<dl>
${rows.join('\n')}
<dt><a href="${FRONT.contract}">OpenAPI</a></dt><dd>The interface for machines. ${FRONT.authentication.replace(/Authorization: Bearer KEY/, '<code>$&</code>')}</dd>
</dl>
</main>
</body>
</html>
`);
}

/** Adds the route. Anyone may ask it. Fastify answers HEAD as well. */
export function addFrontPage(app: FastifyInstance, pages: readonly Page[]): void {
  const html = htmlOf(pages);
  app.get(FRONT_PATH, (request: FastifyRequest, reply: FastifyReply) => {
    const [type, bytes] = wantsHtml(request) ? [HTML_TYPE, html] : [JSON_TYPE, BYTES];
    reply.headers({ ...ALONE, 'content-security-policy': POLICY, vary: 'Accept' });
    return reply.header('content-type', type).header('content-length', bytes.length).send(bytes);
  });
}

/** Whether the client prefers a page: a browser says so. A client that accepts anything gets JSON. RFC 9110 § 12.5.1. */
function wantsHtml({ headers }: FastifyRequest): boolean {
  return new Negotiator({ headers }).mediaType([JSON_TYPE, 'text/html']) === 'text/html';
}
