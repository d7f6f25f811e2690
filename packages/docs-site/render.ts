/** Turns a document into HTML. Links between documents become links between pages; links to other project files become text. */
import { Marked, type RendererObject, type Tokens } from 'marked';
import { addressOf, isOutside, targetOf } from './documents.ts';

/** What a search can find: a heading and the text below it. */
export interface Section {
  readonly heading: string;
  readonly anchor: string;
  readonly text: string;
}

export interface Rendered {
  readonly html: string;
  readonly sections: readonly Section[];
  /** The paths and headings in the project that the document links to. */
  readonly links: readonly { readonly path: string; readonly anchor: string }[];
  /** HTML that the document contains. It is shown as text. */
  readonly raw: readonly string[];
}

/** What each page of a site knows about the other pages. */
export interface Site {
  readonly documents: ReadonlyMap<string, string>;
  /** The address of the picture with this path in the project. */
  picture(path: string): string;
}

/** A character that no document contains. It stands for the relative path from a page to the site's address. */
export const UP = '\uE000';

/** The relative path from a page to the site's address. */
export const upFrom = (address: string) => '../'.repeat(address.split('/').length - 1);

export function render(path: string, text: string, site: Site): Rendered {
  const found: Found = { links: [], raw: [] };
  const marked = new Marked({ gfm: true, renderer: rendererFor(path, site, found) });
  const html = withUsableTables(marked.parse(text, { async: false }) as string);
  return { html, sections: sectionsOf(html), ...found };
}

/** The links and the HTML that were found while a document was rendered. */
interface Found {
  readonly links: { path: string; anchor: string }[];
  readonly raw: string[];
}

function rendererFor(path: string, site: Site, { links, raw }: Found): RendererObject {
  const used = new Map<string, number>();
  return {
    heading({ tokens, depth }) {
      return headingHtml(this.parser.parseInline(tokens), depth, used);
    },
    link({ href, tokens }) {
      const html = this.parser.parseInline(tokens);
      if (isOutside(href)) return `<a href="${escaped(href)}" rel="noreferrer">${html}</a>`;
      const to = targetOf(path, href);
      links.push(to);
      if (!site.documents.has(to.path)) return `<span class="file" title="${escaped(to.path)}">${html}</span>`;
      const address = `${addressOf(to.path)}${to.anchor === '' ? '' : `#${to.anchor}`}`;
      return `<a href="${to.path === path ? `#${to.anchor}` : UP + address}">${html}</a>`;
    },
    image({ href, text }) {
      return `<img src="${UP}${site.picture(targetOf(path, href).path)}" alt="${escaped(text)}" />`;
    },
    code({ text }) {
      return `<pre tabindex="0"><code>${escaped(text)}\n</code></pre>\n`;
    },
    html({ text }) {
      if (/^\s*<!--[\s\S]*?-->\s*$/.test(text)) return '';
      raw.push(text);
      return escaped(text);
    },
  };
}

function headingHtml(html: string, depth: number, used: Map<string, number>): string {
  const anchor = anchorOf(plain(html), used);
  const label = escaped(`Address of “${plain(html)}”`);
  return `<h${depth} id="${anchor}">${html} <a class="anchor" href="#${anchor}" aria-label="${label}">#</a></h${depth}>\n`;
}

/** Lets the arrow keys scroll a table that is too wide, and turns empty heading cells into ordinary cells. */
function withUsableTables(html: string): string {
  return html
    .replaceAll('<table>', '<div class="wide" tabindex="0"><table>')
    .replaceAll('<th></th>', '<td></td>')
    .replaceAll(/<td>(?=[\d-]{10}<)/g, '<td class="date">')
    .replaceAll('</table>', '</table></div>');
}

/** A heading's anchor, made as on GitHub. */
function anchorOf(heading: string, used: Map<string, number>): string {
  const anchor = heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-');
  const count = used.get(anchor) ?? 0;
  used.set(anchor, count + 1);
  return count === 0 ? anchor : `${anchor}-${count}`;
}

function sectionsOf(html: string): Section[] {
  const parts = html.split(/<h[1-4] id="([^"]*)">(.*?) <a class="anchor"[^>]*>#<\/a><\/h[1-4]>/);
  const sections: Section[] = [];
  for (let at = 1; at < parts.length; at += 3) {
    const [anchor = '', heading = '', body = ''] = parts.slice(at, at + 3);
    const text = plain(body.replaceAll(/<\/(td|th|li|p)>/g, ' ')).replaceAll(/\s+/g, ' ');
    sections.push({ anchor, heading: plain(heading), text: text.trim() });
  }
  return sections;
}

/** The headings of the front page, each with the links in the list below it. */
export function contentsOf(text: string): { readonly heading: string; readonly links: readonly Tokens.Link[] }[] {
  const contents: { heading: string; links: Tokens.Link[] }[] = [];
  const marked = new Marked();
  void marked.walkTokens(marked.lexer(text), (token) => {
    if (token.type === 'heading' && token.depth === 2) contents.push({ heading: token.text as string, links: [] });
    if (token.type === 'link') contents.at(-1)?.links.push(token as Tokens.Link);
  });
  return contents;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const CHARACTERS = new Map(Object.entries(ESCAPES).map(([character, written]) => [written, character]));

export function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}

/** The text of some HTML. */
function plain(html: string): string {
  return unescaped(html.replaceAll(/<[^>]*>/g, ''));
}

function unescaped(html: string): string {
  return html.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (written) => CHARACTERS.get(written) ?? written);
}
