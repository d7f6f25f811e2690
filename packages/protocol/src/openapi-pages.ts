/** The pages in the OpenAPI document: their paths, and the headers that only pages have. */
import { ERRORS, type ErrorCode } from './errors.ts';
import { withReferences } from './openapi-schemas.ts';
import { REQUEST_ERRORS } from './operation-errors.ts';
import { PAGE_IDS, PAGES, type PageRow } from './pages.ts';
import { type TSchema, Type } from './type.ts';

type Node = Record<string, unknown>;

/** A header of an answer. A header that is not required is left out if it has no value. */
export interface HeaderNode {
  readonly description: string;
  readonly schema: TSchema;
  readonly required?: boolean;
}

export function always(description: string, schema: TSchema): HeaderNode {
  return { description, schema, required: true };
}

export function inPath(name: string, description: string, schema: TSchema) {
  return { name, in: 'path', required: true, description, schema };
}

const sameOrigin = Type.Enum(['same-origin']);

/** The headers of the pages, keyed by component name. Such a name may begin with a kind of page, as in `Front-Vary`. */
export const PAGE_HEADERS: Readonly<Record<string, HeaderNode>> = {
  Vary: always('The body may be compressed.', Type.Enum(['Accept-Encoding'])),
  'Front-Vary': always('A browser gets a page.', Type.Enum(['Accept'])),
  'Content-Encoding': {
    description: 'How the body is compressed, if it is.',
    schema: Type.Enum(['gzip']),
    required: false,
  },
  'Content-Security-Policy': always('What the page may load and do.', Type.String()),
  'Referrer-Policy': always('No other site learns the address.', Type.Enum(['no-referrer'])),
  'Cross-Origin-Opener-Policy': always('Nobody else holds the window.', sameOrigin),
  'Cross-Origin-Resource-Policy': always('No other site may load it.', sameOrigin),
  'Page-Cache-Control': always('It is asked for again each time.', Type.Enum(['no-cache'])),
  'Log-Cache-Control': always(
    'A whole tile may be kept and is asked for again; everything else changes.',
    Type.Enum(['no-store', 'public, no-cache']),
  ),
  'Log-ETag': { description: 'Names the hashes of a whole tile, for `If-None-Match`.', schema: Type.String() },
  'Access-Control-Allow-Origin': always('Any page may read it.', Type.Enum(['*'])),
  'Link-Content-Disposition': always('No browser shows it as a page of the service.', Type.Enum(['attachment'])),
  'File-Cache-Control': always(
    'Its name changes with its content.',
    Type.Enum(['public, max-age=31536000, immutable']),
  ),
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
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => name);
  if (names.length === 0) return {};
  const parameters = names.map((name) => {
    const description = name === 'view' ? 'Any path below, with more than one part too.' : 'As the page names it.';
    return inPath(name, description, Type.String());
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
