/**
 * What anyone may read beside the operations: the front page, the pages with their files, and the log, if one is kept. A
 * service whose pages were not built, or that a command starts for itself, does not have the pages. Spec § Pages.
 */
import { DsseEnvelope } from './evidence.ts';
import { BLOB_MEDIA_TYPE, LOG_MEDIA_TYPE } from './media-types.ts';
import { type TSchema, Type } from './type.ts';

export const FrontPage = Type.Object({
  name: Type.String(),
  description: Type.String(),
  contract: Type.String(),
  health: Type.String(),
  readiness: Type.String(),
  authentication: Type.String(),
});

interface PageRow {
  readonly path: `/${string}`;
  readonly summary: string;
  /** `front` is JSON or a page, `html` a page, `file` what a page loads, and `log` what the log says. */
  readonly kind: 'front' | 'html' | 'file' | 'log';
  /** Each media type with the schema of its body. */
  readonly content: Readonly<Record<string, TSchema>>;
}

export const LogKeys = Type.Object({
  origin: Type.String(),
  log_key: Type.String(),
  opening: DsseEnvelope,
});

const Text = Type.String();
const NOTE = { [LOG_MEDIA_TYPE]: Text };
const HTML = { 'text/html; charset=utf-8': Text };
const FILES = { 'text/javascript; charset=utf-8': Text, 'text/css; charset=utf-8': Text };
const PICTURES = { 'image/svg+xml': Text, 'image/png': Text };

export const PAGES = {
  getFrontPage: {
    path: '/',
    summary: 'Say what this service is, to people who open its address.',
    kind: 'front',
    content: { 'application/json': FrontPage, ...HTML },
  },
  getDashboard: { path: '/dashboard', summary: 'The dashboard.', kind: 'html', content: HTML },
  getDashboardView: { path: '/dashboard/{view}', summary: 'A view of the dashboard.', kind: 'html', content: HTML },
  getDashboardFile: {
    path: '/dashboard/assets/{file}',
    summary: 'A file that the dashboard loads.',
    kind: 'file',
    content: FILES,
  },
  getDocs: { path: '/docs', summary: 'The documents.', kind: 'html', content: HTML },
  getDocsPage: { path: '/docs/{page}', summary: 'A page of the documents.', kind: 'html', content: HTML },
  getDocsFile: {
    path: '/docs/assets/{file}',
    summary: 'A file that the documents load, or show.',
    kind: 'file',
    content: { ...FILES, ...PICTURES },
  },
  getLogCheckpoint: { path: '/log/checkpoint', summary: 'The signed head of the log.', kind: 'log', content: NOTE },
  getLogKeys: {
    path: '/log/keys',
    summary: 'The key of the log, and the signed statement that opened it. Pin the key from elsewhere.',
    kind: 'log',
    content: { 'application/json': LogKeys },
  },
  getLogTile: {
    path: '/log/tile/{tile}',
    summary: 'Hashes of the log, as https://c2sp.org/tlog-tiles names them. It has no tiles of entries.',
    kind: 'log',
    content: { [BLOB_MEDIA_TYPE]: Text },
  },
  getLogLeafProof: {
    path: '/log/proof',
    summary: 'The proof of a leaf by its hash in hex, `?hash=`.',
    kind: 'log',
    content: NOTE,
  },
  getLogConsistency: {
    path: '/log/consistency',
    summary: 'The proof that the log of `?old=` leaves only grew since.',
    kind: 'log',
    content: NOTE,
  },
  getVerifyPage: { path: '/verify', summary: 'The page that checks an export.', kind: 'html', content: HTML },
} as const satisfies Record<string, PageRow>;
export type PageId = keyof typeof PAGES;
export const PAGE_IDS = Object.keys(PAGES) as PageId[];
