/**
 * The pages that the set-up built, read once when the service starts. No path of a request reaches the file system: what
 * is served is what was found here.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PAGES } from '@vouchbox/protocol';
import { etagOf } from '../request/etag.ts';

/** One file of a page. */
export interface PageFile {
  /** The path that it is served at. */
  readonly path: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
  /** The content, compressed; null where compression saves nothing. */
  readonly gzip: Buffer | null;
  /** A strong entity tag of the bytes, in quotes. */
  readonly etag: string;
}

/** A page: its HTML, and what that loads. */
export interface Page {
  /** The path of the HTML. */
  readonly path: string;
  /** Whether it shows a view of its own for each path below. */
  readonly hasViews: boolean;
  readonly html: PageFile;
  /** Files whose names hold a digest of what is in them. They lie below `assets/`. */
  readonly assets: readonly PageFile[];
  /** The Content-Security-Policy of the HTML. */
  readonly policy: string;
}

/** Each page with the folder that it is built in, which has the name of its package. */
const BUILT_PAGES = [
  { folder: 'verify-page', path: PAGES.getVerifyPage.path, hasViews: false },
  { folder: 'dashboard', path: PAGES.getDashboard.path, hasViews: true },
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

/** Every page that was built. `directory` has a folder for each; tests give their own. */
export function readBuiltPages(directory = BUILT): readonly Page[] {
  return BUILT_PAGES.filter(({ folder }) => existsSync(join(directory, folder, 'index.html'))).map(
    ({ folder, path, hasViews }) => {
      const read = (name: string, at: string) => readFile(join(directory, folder, name), at);
      const html = read('index.html', path);
      const names = globSync('assets/*', { cwd: join(directory, folder) }).filter(
        (name) => extname(name) in MEDIA_TYPES,
      );
      const assets = names.map((name) => read(name, `${path}/${name}`));
      return { path, hasViews, html, assets, policy: policyOf(html.bytes.toString()) };
    },
  );
}

function readFile(file: string, path: string): PageFile {
  const bytes = readFileSync(file);
  return {
    path,
    mediaType: MEDIA_TYPES[extname(file)] as string,
    bytes,
    gzip: existsSync(`${file}.gz`) ? readFileSync(`${file}.gz`) : null,
    etag: etagOf(bytes),
  };
}

/** The policy of a page that loads files of its own and asks the service for data, and nothing else. */
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
 * A page in one file names its script and its style by their digests, in a policy of its own, and that policy is sent too.
 * A browser obeys the directives about framing only in the header. CSP Level 3 § 3.3.
 */
function policyOf(html: string): string {
  const [, own] = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(html) ?? [];
  return `${own ?? OWN_FILES}; frame-ancestors 'none'`;
}
