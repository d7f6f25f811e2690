/**
 * The answer to `GET /`: a description of this service, and the address of its contract. A browser gets a page for people, and
 * every other client gets JSON. The answer says only what the public operations say. Spec § Pages.
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

/** `MARK` and `STYLE` are copied from `tools/pages`, which no published package has. `pages.test.ts` compares them. */
const MARK = 'M20 5H9a4 4 0 0 0-4 4v14a4 4 0 0 0 4 4h14a4 4 0 0 0 4-4v-8M11 15l5 5L28 7';

const STYLE = `
:root {
  color-scheme: light dark;
  --font: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  --mono: ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --text-body: 0.9375rem; --text-title: 1.5rem;
  --space-3: 0.75rem; --space-4: 1rem; --radius: 0.5rem;
  --ground: light-dark(#f7f7f5, #131517); --surface: light-dark(#ffffff, #1b1e21);
  --line: light-dark(#e0e0da, #2f3438);
  --ink: light-dark(#1d2024, #e8eaec);
  --accent: light-dark(#1f5f6b, #86c5d0);
}
body { max-width: 36rem; margin: 10vh auto; padding: 0 var(--space-4); background: var(--ground); color: var(--ink); font: var(--text-body)/1.55 var(--font) }
h1 { margin: 0; font-size: var(--text-title); letter-spacing: -0.01em }
svg { width: 1.5em; margin-inline-end: 0.35em; vertical-align: -0.35em; fill: none; stroke: var(--accent); stroke-width: 2.5; stroke-linecap: round; stroke-linejoin: round }
a { color: var(--accent); text-underline-offset: 0.2em }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
dl { display: grid; gap: var(--space-3) }
dl div { padding: var(--space-3) var(--space-4); border: 1px solid var(--line); border-radius: var(--radius); background: var(--surface) }
dt { font-weight: 600 }
dd { margin: 0 }
code { font: 0.92em var(--mono) }
`;

/** The page's styles do not reach its icon, so the icon has the accent of the light colours. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke="#1f5f6b" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"><path d="${MARK}"/></svg>`;

/** The pages that the front page lists, each with its path, name and purpose. */
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
  const machines = FRONT.authentication.replace(/Authorization: Bearer KEY/, '<code>$&</code>');
  const rows = [...ways, [FRONT.contract, 'OpenAPI', `The interface for machines. ${machines}`] as const];
  return Buffer.from(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${FRONT.name}</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1><svg viewBox="0 0 32 32" aria-hidden="true"><path d="${MARK}"/></svg>${FRONT.name}</h1>
<p>${FRONT.description}</p>
<dl>
${rows.map(([path, name, what]) => `<div><dt><a href="${path}">${name}</a></dt><dd>${what}</dd></div>`).join('\n')}
</dl>
</main>
</body>
</html>
`);
}

/** Adds the route, for anyone. Fastify answers HEAD as well. */
export function addFrontPage(app: FastifyInstance, pages: readonly Page[]): void {
  const html = htmlOf(pages);
  app.get(FRONT_PATH, (request: FastifyRequest, reply: FastifyReply) => {
    const [type, bytes] = wantsHtml(request) ? [HTML_TYPE, html] : [JSON_TYPE, BYTES];
    reply.headers({ ...ALONE, 'content-security-policy': POLICY, vary: 'Accept' });
    return reply.header('content-type', type).header('content-length', bytes.length).send(bytes);
  });
}

/** Whether the client says that it prefers a page, like a browser. Clients that accept anything get JSON. RFC 9110 § 12.5.1. */
function wantsHtml({ headers }: FastifyRequest): boolean {
  return new Negotiator({ headers }).mediaType([JSON_TYPE, 'text/html']) === 'text/html';
}
