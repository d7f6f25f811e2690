/**
 * What is served to people beside the operations: the front page, and the pages with their files. Anyone may read them. A
 * service whose pages were not built, or that a command starts for itself, does not have the pages. Spec § Pages.
 */
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
  /** `front` is JSON, `html` a page, and `file` what a page loads. */
  readonly kind: 'front' | 'html' | 'file';
  /** Each media type with the schema of its body. */
  readonly content: Readonly<Record<string, TSchema>>;
}

const Text = Type.String();
const HTML = { 'text/html; charset=utf-8': Text };
const FILES = { 'text/javascript; charset=utf-8': Text, 'text/css; charset=utf-8': Text };

export const PAGES = {
  getFrontPage: {
    path: '/',
    summary: 'Say what this service is, to people who open its address.',
    kind: 'front',
    content: { 'application/json': FrontPage },
  },
  getDashboard: { path: '/dashboard', summary: 'The dashboard.', kind: 'html', content: HTML },
  getDashboardView: { path: '/dashboard/{view}', summary: 'A view of the dashboard.', kind: 'html', content: HTML },
  getDashboardFile: {
    path: '/dashboard/assets/{file}',
    summary: 'A file that the dashboard loads.',
    kind: 'file',
    content: FILES,
  },
  getVerifyPage: { path: '/verify', summary: 'The page that checks an export.', kind: 'html', content: HTML },
} as const satisfies Record<string, PageRow>;
export type PageId = keyof typeof PAGES;
export const PAGE_IDS = Object.keys(PAGES) as PageId[];
