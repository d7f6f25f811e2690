/**
 * The public paths other than operations: the front page, the pages with their files, the log (if one is kept), and the
 * answers of a link to readers with its secret. The pages are missing from a service whose pages were not built, and
 * from a service that a command starts for itself. Spec § Pages, § Links.
 */
import type { ErrorCode } from './errors.ts';
import { DsseEnvelope, ResultArtifact } from './evidence.ts';
import { FoldedResult } from './job.ts';
import { LinkedJob } from './links.ts';
import { BLOB_MEDIA_TYPE, ENVELOPE_MEDIA_TYPE, LOG_MEDIA_TYPE, RESULT_MEDIA_TYPE } from './media-types.ts';
import { type TSchema, Type } from './type.ts';

export const FrontPage = Type.Object({
  name: Type.String(),
  description: Type.String(),
  contract: Type.String(),
  health: Type.String(),
  readiness: Type.String(),
  authentication: Type.String(),
});

export interface PageRow {
  readonly path: `/${string}`;
  readonly summary: string;
  /** `front` is JSON or a page, `html` a page, `file` a page's file, `log` the log's answer, `link` a link's answer. */
  readonly kind: 'front' | 'html' | 'file' | 'log' | 'link';
  /** Each media type with the schema of its body. */
  readonly content: Readonly<Record<string, TSchema>>;
  /** The refusals that this page may give, beyond those that every page of its kind may give. */
  readonly errors?: readonly ErrorCode[];
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

const UNSIGNED = [
  'job_not_terminal',
  'attestation_unavailable',
  'attestation_disabled',
  'signing_key_unknown',
] as const;

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
  getLinkPage: {
    path: '/links/{link}',
    summary: 'The page that shows the job of a link. It is the same for all links.',
    kind: 'html',
    content: HTML,
  },
  getLinkedJob: {
    path: '/links/{link}/job',
    summary: 'The job of a link, with its receipt.',
    kind: 'link',
    content: { 'application/json': LinkedJob },
  },
  getLinkedResult: {
    path: '/links/{link}/result',
    summary: 'Its result; without the files if the link does not show them.',
    kind: 'link',
    content: { 'application/json': FoldedResult },
  },
  getLinkedAttestation: {
    path: '/links/{link}/attestation',
    summary: 'The exact bytes of the signed DSSE envelope.',
    kind: 'link',
    content: { [ENVELOPE_MEDIA_TYPE]: DsseEnvelope },
    errors: UNSIGNED,
  },
  getLinkedResultArtifact: {
    path: '/links/{link}/result-artifact',
    summary: 'The exact bytes that the attestation is about.',
    kind: 'link',
    content: { [RESULT_MEDIA_TYPE]: ResultArtifact },
    errors: UNSIGNED,
  },
  getLinkedBlob: {
    path: '/links/{link}/blobs/{sha256}',
    summary:
      'A large output, if the link shows files, or a file that the job was given by its digest, if it shows input.',
    kind: 'link',
    content: { [BLOB_MEDIA_TYPE]: Text },
    errors: ['blob_not_found'],
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
