/** The documents as pages. The tests check which pages exist, where links lead, and that pages load nothing from other hosts. */
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addressOf, documentsIn, FRONT } from '../../packages/docs-site/documents.ts';
import { contentsOf } from '../../packages/docs-site/render.ts';
import { faultsIn, renderAll } from '../../packages/docs-site/site.ts';

const root = join(import.meta.dirname, '../..');
const built = join(root, 'packages/server/pages/docs-site');
const compressedBytesMax = 1_200_000;

describe('the table of contents of docs/README.md', () => {
  const { links, headings } = contentsOfFront();

  function contentsOfFront() {
    const contents = contentsOf(readFileSync(join(root, FRONT), 'utf8'));
    return {
      links: contents.flatMap((part) => part.links.map(({ href }) => posix.join('docs', href))),
      headings: contents.map(({ heading }) => heading),
    };
  }

  test('lists every document in docs/ once', () => {
    const documents = globSync(['docs/*.md', 'docs/{for,operating}/*.md'], { cwd: root }).filter(
      (file) => file !== FRONT,
    );
    const ofDocs = links.filter((link) => link.startsWith('docs/') && link.endsWith('.md'));
    expect(ofDocs.toSorted()).toEqual(documents.toSorted());
    expect(headings.length).toBeGreaterThan(4);
  });

  test('leads to every decision record', () => {
    const decisions = globSync('docs/decisions/*.md', { cwd: root });
    const documents = documentsIn(root);
    expect(decisions.filter((decision) => !documents.has(decision))).toEqual([]);
  });

  test('gives every document its own address', () => {
    const addresses = [...documentsIn(root).keys()].map(addressOf);
    expect(new Set(addresses).size).toBe(addresses.length);
  });
});

describe('a link in a document', () => {
  const project = mkdtempSync(join(tmpdir(), 'svc-documents-'));
  afterAll(() => rmSync(project, { recursive: true }));
  const write = (path: string, text: string) => {
    mkdirSync(join(project, dirname(path)), { recursive: true });
    writeFileSync(join(project, path), text);
  };
  beforeAll(() => {
    write('docs/operating/start.md', '# Start\n\n## The host\n\n[Back](../README.md) and [the code](../../a.ts).\n');
    write('a.ts', 'export const a = 1;\n');
  });
  /** The front page of a site built with this text as docs/README.md. */
  function pageOf(text: string): string {
    write('docs/README.md', `# One\n\n${text}\n`);
    return pagesOf().get(FRONT)?.html ?? '';
  }
  const pagesOf = () => renderAll({ documents: documentsIn(project), picture: (path) => path });

  test("to a heading in another document leads to that heading on the other document's page", () => {
    expect(pageOf('[it](operating/start.md#the-host)')).toContain('operating/start.html#the-host">it</a>');
  });

  test('to a file that is not a document becomes plain text that names the file', () => {
    expect(pageOf('[it](../a.ts)')).toContain('<span class="file" title="a.ts">it</span>');
  });

  test('to another site stays as it is', () => {
    expect(pageOf('[it](https://example.org/x?a=1&b=2)')).toContain('href="https://example.org/x?a=1&amp;b=2"');
  });

  test('leads to an existing target in every document of this project, and no document contains HTML', () => {
    expect(faultsIn(root, renderAll({ documents: documentsIn(root), picture: (path) => path }))).toEqual([]);
  });

  test.each([
    ['a document that is not there', '[it](none.md)', 'none.md#, which is not there'],
    [
      'a heading that is not there',
      '[it](operating/start.md#none)',
      'docs/operating/start.md#none, which is not there',
    ],
    ['a file that is not there', '[it](../b.ts)', 'b.ts#, which is not there'],
    ['HTML', '<b>it</b>', 'docs/README.md has HTML in it: <b>'],
  ])('to %s is reported as a fault in the document', (_what, text, fault) => {
    expect(pageOf(text)).not.toContain('<b>');
    expect(faultsIn(project, pagesOf())).toContainEqual(expect.stringContaining(fault));
  });

  test('shows the characters < and > in its text instead of turning them into HTML', () => {
    expect(pageOf('`a<b>` & [c<d](operating/start.md)')).toMatch(/<code>a&lt;b&gt;<\/code> &amp; <a [^>]*>c&lt;d<\/a>/);
  });
});

describe('the built pages', () => {
  const pages = globSync('**/*.html', { cwd: built }).map(
    (name) => [name, readFileSync(join(built, name), 'utf8')] as const,
  );
  /** Every address in a page's links and sources, with the page's name. */
  const named = pages.flatMap(([name, html]) =>
    [...html.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, address = '']) => ({ name, address })),
  );

  test('exist for every document, and twice for the front page', () => {
    const addresses = [...documentsIn(root).keys()].map(addressOf);
    expect(pages.map(([name]) => name).toSorted()).toEqual([...addresses, 'front.html'].toSorted());
  });

  test('link to existing files and headings', () => {
    const anchors = new Map(
      pages.map(([name, html]) => [name, new Set([...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id))]),
    );
    const dead = named.filter(({ name, address }) => {
      if (/^(https|data):/.test(address)) return false;
      const [path = '', anchor] = address.split('#');
      // The front page has the address of its folder without a final slash, so the page's links start from the folder above.
      const from = name === 'front.html' ? '..' : dirname(name);
      const to = path === '' ? name : posix.normalize(posix.join(from, path)).replace(/^\.\.\/docs\//, '');
      return !existsSync(join(built, to)) || (anchor !== undefined && !(anchors.get(to)?.has(anchor) ?? false));
    });
    expect(dead).toEqual([]);
    expect(named.length).toBeGreaterThan(5000);
  });

  test('load nothing from other hosts', () => {
    const loaded = pages.flatMap(([, html]) => [...html.matchAll(/<(?:script|link|img)[^>]*(?:src|href)="([^"]*)"/g)]);
    expect(loaded.map(([, address = '']) => address).filter((address) => /^(?!data:)\w+:/.test(address))).toEqual([]);
    expect(
      pages.filter(([, html]) => /<style|<script(?![^>]* src=)| style="| on\w+="/.test(html)).map(([name]) => name),
    ).toEqual([]);
  });

  test('have at most 1.2 MB together when they are compressed', () => {
    const files = globSync('**/*.{html,js,css,svg,png}', { cwd: built });
    const bytes = files.map((file) => gzipSync(readFileSync(join(built, file))).length);
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(compressedBytesMax);
  });
});
