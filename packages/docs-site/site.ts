/** Writes a page for each document, the sections that a search can find, and the pictures that pages show. */
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Plugin, Rolldown } from 'vite';
import { addressOf, documentsIn, FRONT, targetOf, titleOf } from './documents.ts';
import { contentsOf, escaped, type Rendered, render, type Site, UP, upFrom } from './render.ts';

/** The Vite plugin. It fills in the template once for each document of the project at `root`. */
export function site(root: string): Plugin {
  return {
    name: 'site',
    generateBundle: {
      // Runs after the step in which Vite itself writes the HTML.
      order: 'post',
      handler(_options, bundle) {
        const documents = documentsIn(root);
        const emit = (name: string, source: Uint8Array | string) =>
          this.getFileName(this.emitFile({ type: 'asset', name, source }));
        const pictures = new Map<string, string>();
        const picture = (path: string) => {
          const address = pictures.get(path) ?? emit(basename(path), readFileSync(join(root, path)));
          pictures.set(path, address);
          return address;
        };
        const pages = renderAll({ documents, picture });
        for (const fault of faultsIn(root, pages)) this.warn(fault);
        const sections = emit('sections.js', `vouchboxSections(${JSON.stringify(sectionsOf(documents, pages))});\n`);
        const template = templateIn(bundle);
        const fill = (path: string, up = upFrom(addressOf(path))) =>
          pageOf(template, path, { documents, sections, up, article: pages.get(path)?.html ?? '' });
        for (const path of documents.keys()) {
          if (path === FRONT) (bundle['index.html'] as Rolldown.OutputAsset).source = fill(path);
          else this.emitFile({ type: 'asset', fileName: addressOf(path), source: fill(path) });
        }
        // The front page is also at /docs. That is not a folder, so the links in this copy begin with `docs/`.
        this.emitFile({ type: 'asset', fileName: 'front.html', source: fill(FRONT, 'docs/') });
      },
    },
  };
}

/** Every document as a page. */
export function renderAll(all: Site): ReadonlyMap<string, Rendered> {
  return new Map([...all.documents].map(([path, text]) => [path, render(path, text, all)]));
}

/** The faults in the documents of the project at `root`, one line each: links that lead nowhere, and HTML. */
export function faultsIn(root: string, pages: ReadonlyMap<string, Rendered>): string[] {
  return [...pages].flatMap(([path, { links, raw }]) => [
    ...links.flatMap((link) =>
      isThere(link) ? [] : [`${path} links to ${link.path}#${link.anchor}, which is not there`],
    ),
    ...raw.map((html) => `${path} has HTML in it: ${html}`),
  ]);

  function isThere({ path, anchor }: Rendered['links'][number]): boolean {
    const page = pages.get(path);
    if (page === undefined) return existsSync(join(root, path));
    return anchor === '' || page.sections.some((section) => section.anchor === anchor);
  }
}

/** What the search reads about each section: its address, the title of its page, its heading and its text. */
function sectionsOf(documents: ReadonlyMap<string, string>, pages: ReadonlyMap<string, Rendered>) {
  return [...pages].flatMap(([path, { sections }]) => {
    const title = titleOf(documents.get(path) ?? '');
    return sections.map(({ anchor, heading, text }) => [`${addressOf(path)}#${anchor}`, title, heading, text] as const);
  });
}

interface Filling {
  readonly documents: ReadonlyMap<string, string>;
  /** The address of the sections. */
  readonly sections: string;
  readonly article: string;
  /** The relative path from the page to the site's address. */
  readonly up: string;
}

/** Vite writes one template with a module script, but a page that is opened as a file runs only ordinary scripts. */
function templateIn(bundle: Rolldown.OutputBundle): string {
  const { source } = bundle['index.html'] as Rolldown.OutputAsset;
  const html = typeof source === 'string' ? source : new TextDecoder().decode(source);
  return html
    .replaceAll('type="module" crossorigin', 'defer')
    .replaceAll(' crossorigin', '')
    .replaceAll('"UP/', `"${UP}`);
}

function pageOf(template: string, path: string, { documents, sections, article, up }: Filling): string {
  const title = titleOf(documents.get(path) ?? '');
  return template
    .replaceAll('./assets/', `${up}assets/`)
    .replace('SECTIONS', sections)
    .replace('TITLE', () => escaped(path === FRONT ? title : `${title} · Vouchbox`))
    .replace('<!--contents-->', () => contentsHtml(path, documents.get(FRONT) ?? ''))
    .replace('<!--article-->', () => article)
    .replaceAll(UP, up);
}

function contentsHtml(path: string, front: string): string {
  return contentsOf(front)
    .map(({ heading, links }) => {
      const rows = links.map(({ href, text }) => {
        const to = targetOf(FRONT, href).path;
        const current = to === path ? ' aria-current="page"' : '';
        return `<li><a href="${UP}${addressOf(to)}"${current}>${escaped(text)}</a></li>`;
      });
      return `<h2>${escaped(heading)}</h2><ul>${rows.join('')}</ul>`;
    })
    .join('');
}
