/** The pages as the OpenAPI document lists them: their paths, and the headers that only pages have. */
import { ERRORS, type ErrorCode } from './errors.ts';
import { withReferences } from './openapi-schemas.ts';
import { REQUEST_ERRORS } from './operation-errors.ts';
import { PAGE_IDS, PAGES, type PageRow } from './pages.ts';
import { type TSchema, Type } from './type.ts';

type Node = Record<string, unknown>;

const required = { required: true };
const sameOrigin = Type.Enum(['same-origin']);

/** The headers of the pages by the names of their components, in which a kind of page may come first, as in `Front-Vary`. */
export const PAGE_HEADERS: Readonly<Record<string, Node>> = {
  Vary: { description: 'The body may be compressed.', schema: Type.Enum(['Accept-Encoding']), ...required },
  'Front-Vary': { description: 'A browser gets a page.', schema: Type.Enum(['Accept']), ...required },
  'Content-Encoding': {
    description: 'How the body is compressed, if it is.',
    schema: Type.Enum(['gzip']),
    required: false,
  },
  'Content-Security-Policy': { description: 'What the page may load and do.', schema: Type.String(), ...required },
  'Referrer-Policy': {
    description: 'No other site learns the address.',
    schema: Type.Enum(['no-referrer']),
    ...required,
  },
  'Cross-Origin-Opener-Policy': { description: 'Nobody else holds the window.', schema: sameOrigin, ...required },
  'Cross-Origin-Resource-Policy': { description: 'No other site may load it.', schema: sameOrigin, ...required },
  'Page-Cache-Control': {
    description: 'It is asked for again each time.',
    schema: Type.Enum(['no-cache']),
    ...required,
  },
  'Log-Cache-Control': {
    description: 'A whole tile may be kept and is asked for again; everything else changes.',
    schema: Type.Enum(['no-store', 'public, no-cache']),
    ...required,
  },
  'Log-ETag': { description: 'Names the hashes of a whole tile, for `If-None-Match`.', schema: Type.String() },
  'Access-Control-Allow-Origin': { description: 'Any page may read it.', schema: Type.Enum(['*']), ...required },
  'Link-Content-Disposition': {
    description: 'No browser shows it as a page of the service.',
    schema: Type.Enum(['attachment']),
    ...required,
  },
  'File-Cache-Control': {
    description: 'Its name changes with its content.',
    schema: Type.Enum(['public, max-age=31536000, immutable']),
    ...required,
  },
};

const ALWAYS = ['X-Request-Id', 'X-Content-Type-Options'];
const OF_HTML = [
  'Content-Security-Policy',
  'Referrer-Policy',
  'Cross-Origin-Opener-Policy',
  'Cross-Origin-Resource-Policy',
];
const OF_KIND = {
  front: ['Cache-Control', 'Front-Vary', ...OF_HTML],
  html: ['Page-Cache-Control', 'ETag', 'Vary', ...OF_HTML],
  file: ['File-Cache-Control', 'ETag', 'Vary', 'Cross-Origin-Resource-Policy'],
  log: ['Log-Cache-Control', 'Log-ETag', 'Access-Control-Allow-Origin'],
  link: ['Cache-Control', 'Link-Content-Disposition', ...OF_HTML],
} as const;

const OF_KIND_CODES: Readonly<Record<PageRow['kind'], readonly ErrorCode[]>> = {
  front: [],
  html: ['route_not_found'],
  file: ['route_not_found'],
  log: ['route_not_found', 'rate_limited', 'store_unavailable', 'capacity_exhausted'],
  link: [
    'links_disabled',
    'link_not_found',
    'rate_limited',
    'store_unavailable',
    'capacity_exhausted',
    'tenant_capacity_exhausted',
  ],
};

function headersOf(names: readonly string[]): Node {
  return Object.fromEntries(
    names.map((name) => [name.replace(/^(?:Front|Page|File|Log|Link)-/, ''), { $ref: `#/components/headers/${name}` }]),
  );
}

/** The path items of the pages, one for each path. */
export function pagePaths(): Node {
  return Object.fromEntries(
    PAGE_IDS.map((id) => [PAGES[id].path, { ...parametersIn(PAGES[id].path), get: pageNode(id) }]),
  );
}

function parametersIn(path: string): Node {
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name);
  if (names.length === 0) return {};
  const parameters = names.map((name) => {
    const description = name === 'view' ? 'Any path below, with more than one part too.' : 'As the page names it.';
    return { name, in: 'path', required: true, description, schema: Type.String() };
  });
  return { parameters };
}

function pageNode(id: (typeof PAGE_IDS)[number]): Node {
  const { summary, kind, content, errors = [] }: PageRow = PAGES[id];
  const codes = [...REQUEST_ERRORS, ...OF_KIND_CODES[kind], ...errors];
  const names = [...ALWAYS, ...OF_KIND[kind]];
  const statuses = [...new Set(codes.map((code) => ERRORS[code].status))].sort((a, b) => a - b);
  const isKept = kind === 'html' || kind === 'file';
  const coded = isKept ? ['Content-Encoding'] : [];
  return {
    operationId: id,
    tags: ['pages'],
    summary,
    security: kind === 'link' ? [{ link: [] }] : [],
    responses: {
      200: {
        description: 'The page.',
        headers: headersOf([...names, 'Content-Length', ...coded]),
        content: Object.fromEntries(
          Object.entries<TSchema>(content).map(([type, schema]) => [type, { schema: withReferences(schema) }]),
        ),
      },
      ...((isKept || id === 'getLogTile') && { 304: { description: 'The client has it.', headers: headersOf(names) } }),
      ...Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Error${status}` }])),
    },
    'x-error-codes': [...codes].sort(),
    'x-capacity': kind === 'link' ? ['connection', 'response'] : ['connection'],
  };
}
