/** Which documents there are, and the address of the page for each. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { marked } from 'marked';

/** The document whose links lead to all others. Its lists are the table of contents at the side of every page. */
export const FRONT = 'docs/README.md';

/** The documents that can be reached by links from the front page, keyed by path. A folder stands for all documents in it. */
export function documentsIn(root: string): ReadonlyMap<string, string> {
  const documents = new Map<string, string>();
  const waiting = [FRONT];
  for (const path of waiting) {
    if (documents.has(path)) continue;
    const text = isFolder(path) ? listOf(root, path) : readFileSync(join(root, path), 'utf8');
    documents.set(path, text);
    waiting.push(
      ...linksIn(text)
        .map((link) => targetOf(path, link).path)
        .filter((to) => isDocument(root, to)),
    );
  }
  return documents;
}

/** Whether a path in the project is a document or a folder of documents. */
function isDocument(root: string, path: string): boolean {
  return existsSync(join(root, path)) && (path.endsWith('.md') || path === 'docs/decisions/');
}

const isFolder = (path: string) => path.endsWith('/');

/** A page for a folder: a list of its documents' titles. */
function listOf(root: string, folder: string): string {
  const rows = readdirSync(join(root, folder))
    .filter((file) => file.endsWith('.md'))
    .sort()
    .map((file) => `- [${titleOf(readFileSync(join(root, folder, file), 'utf8'))}](${file})`);
  return `# Decisions\n\nWhy it is built as it is. Each says what else was considered.\n\n${rows.join('\n')}\n`;
}

/** A document's title: its first heading. */
export function titleOf(text: string): string {
  return /^# (.*)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? 'Vouchbox';
}

function linksIn(text: string): string[] {
  const links: string[] = [];
  void marked.walkTokens(marked.lexer(text), (token) => {
    if (token.type === 'link' && !isOutside(token.href as string)) links.push(token.href as string);
  });
  return links;
}

/** Whether a link leads out of the project. */
export function isOutside(href: string): boolean {
  return /^[a-z]+:/.test(href);
}

/** Where a document's link leads: a path in the project, and a heading there. */
export function targetOf(from: string, href: string): { readonly path: string; readonly anchor: string } {
  const [to = '', anchor = ''] = href.split('#');
  const folder = isFolder(from) ? from : posix.dirname(from);
  return { path: to === '' ? from : posix.normalize(posix.join(folder, to)), anchor };
}

/** The address of a page, relative to the site's. Documents from outside docs/ are in one folder, `project/`. */
export function addressOf(path: string): string {
  if (path === FRONT) return 'index.html';
  const name = path
    .replace(/^README\.md$/, 'overview')
    .replace(/\/README\.md$|\.md$/, '')
    .toLowerCase();
  if (!path.startsWith('docs/')) return `project/${name.replaceAll('/', '-')}.html`;
  return `${name.slice('docs/'.length).replace(/\/$/, '/index')}.html`;
}
