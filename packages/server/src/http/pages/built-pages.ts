/**
 * The pages that the set-up built. Their files are listed when the service starts, and only listed files are served, so no
 * request's path reaches the file system. A file is read at the first request for it, so unvisited pages take no memory.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PAGES } from '@vouchbox/protocol';
import { once } from '../../ground/once.ts';
import { etagOf } from '../request/etag.ts';

/** One file of a page. */
export interface PageFile {
  /** The path at which the file is served. */
  readonly path: string;
  readonly mediaType: string;
  readonly plain: FormReader;
  /** The compressed bytes; null if compression saves nothing. */
  readonly gzip: FormReader | null;
}

/** Reads one form of a file, once. All requests share the bytes, however many come and however slowly clients read. */
type FormReader = () => Form;

/** The bytes of a file as sent, plain or compressed. */
interface Form {
  readonly bytes: Buffer;
  /** A strong entity tag for these bytes, in quotes. RFC 9110 § 8.8.3.3. */
  readonly etag: string;
}

/** A page: its HTML, the files that it loads, and other pages below it. */
export interface Page {
  /** The path of the HTML. */
  readonly path: string;
  /** Whether the page shows a separate view for each path below it. */
  readonly hasViews: boolean;
  readonly html: PageFile;
  /** All files below the page's path, keyed by their own paths. Names below `assets/` contain a digest of the content. */
  readonly files: ReadonlyMap<string, PageFile>;
  /** Reads the HTML's Content-Security-Policy. HTML below the page has the same policy. */
  policy(): string;
}

/** The path of the page that is served for every link. */
const LINK_PAGE = PAGES.getLinkPage.path.replace('{link}', ':link');

/** The pages. `folder` is a page's build folder, named like the page's package. `front` is the file that is served at `path`. */
const BUILT_PAGES = [
  { folder: 'verify-page', path: PAGES.getVerifyPage.path, hasViews: false, front: 'index.html' },
  { folder: 'dashboard', path: PAGES.getDashboard.path, hasViews: true, front: 'index.html' },
  { folder: 'link-page', path: LINK_PAGE, hasViews: false, front: 'index.html' },
  { folder: 'docs-site', path: PAGES.getDocs.path, hasViews: false, front: 'front.html' },
];

const BUILT = fileURLToPath(new URL('../../../pages/', import.meta.url));

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** Every page that was built. `directory` has a folder for each page. Tests pass a directory of their own. */
export function listBuiltPages(directory = BUILT): readonly Page[] {
  return BUILT_PAGES.filter(({ folder, front }) => existsSync(join(directory, folder, front))).map(
    ({ folder, path, hasViews, front }) => {
      const fileOf = (name: string, at: string) => pageFile(join(directory, folder, name), at);
      const html = fileOf(front, path);
      const below = readdirSync(join(directory, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => extname(name) in MEDIA_TYPES && name !== front)
        .map((name) => fileOf(name, `${path}/${name}`));
      const files = new Map(below.map((file) => [file.path, file]));
      const policy = once(() => policyOf(html.plain().bytes.toString()));
      return { path, hasViews, html, files, policy };
    },
  );
}

function pageFile(file: string, path: string): PageFile {
  const gzip = existsSync(`${file}.gz`) ? formReader(`${file}.gz`) : null;
  return { path, mediaType: MEDIA_TYPES[extname(file)] as string, plain: formReader(file), gzip };
}

function formReader(file: string): FormReader {
  return once(() => {
    const bytes = readFileSync(file);
    return { bytes, etag: etagOf(bytes) };
  });
}

/** The policy that lets a page load its own files and ask the service for data, and forbids everything else. */
const OWN_FILES = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/**
 * A page in a single file contains its own policy, which names its script and style by their digests. That policy is
 * also sent as a header, because a browser obeys the directives about framing only in a header. CSP Level 3 § 3.3.
 */
function policyOf(html: string): string {
  const [, own] = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(html) ?? [];
  return `${own ?? OWN_FILES}; frame-ancestors 'none'`;
}
