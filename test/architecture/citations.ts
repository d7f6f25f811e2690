/**
 * Finds the citations in a project text that lead nowhere: ids of statements and attacks, decision records,
 * files, headings and RFCs in a wrong form. `contract-citations.ts` checks citations of the contract's sections.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { allStatements } from '../../tools/statements.ts';

const PATH =
  /(?<![\w/.-])(?:packages|docs|test|tools|bench|packs|\.ci)\/(?:[\w.-]+\/)*[\w-][\w.-]*\.(?:ts|mjs|cjs|c|h|pl|py|md|json)\b/g;
/** A path such as `packs/NAME.json` stands for any pack. */
const PLACEHOLDER = /\/[A-Z]+\.json$/;

/** Everything that can be cited. Paths are relative to the project's root. */
export interface Citable {
  readonly ids: ReadonlySet<string>;
  /** The numbers of the decision records, such as `0022`. */
  readonly decisions: ReadonlySet<string>;
  /** Whether this file or folder exists. */
  readonly exists: (path: string) => boolean;
  /** A document's text; null if the document does not exist. */
  readonly document: (path: string) => string | null;
}

/** What can be cited in the project in this directory. */
export function citableIn(root: string): Citable {
  const exists = (path: string) => existsSync(join(root, path));
  return {
    ids: new Set(allStatements(root).map(({ id }) => id)),
    decisions: new Set(globSync('docs/decisions/*.md', { cwd: root }).map((path) => path.slice(15, 19))),
    exists,
    document: (path) => (exists(path) ? readFileSync(join(root, path), 'utf8') : null),
  };
}

/** A file's citations that lead nowhere, as they are written there. */
export function deadCitations(file: string, text: string, citable: Citable): string[] {
  return [
    ...deadIds(text, citable.ids),
    ...deadDecisions(text, citable.decisions),
    ...formlessRfcs(text),
    ...deadPaths(text, citable),
    ...(file.endsWith('.md') ? deadLinks(file, text, citable) : []),
  ];
}

/** Unknown ids such as `AUTH-16` or `Receipt-4`: every word that begins like an id. */
function deadIds(text: string, ids: ReadonlySet<string>): string[] {
  const families = new Set([...ids].map((id) => id.slice(0, id.lastIndexOf('-'))));
  const ending = /(?<![\w/.-])([A-Za-z]+)-\d+[a-z]?(?![\w-])/g;
  return [...text.matchAll(ending)].flatMap(([id, family = '']) => (families.has(family) && !ids.has(id) ? [id] : []));
}

/** Unknown decisions: `decision 0022`, `docs/decisions/0022-namespace-cells-are-forked.md`. */
function deadDecisions(text: string, decisions: ReadonlySet<string>): string[] {
  const cited = /\bdecisions?(?: |\/)(\d{1,4})\b/gi;
  return [...text.matchAll(cited)].flatMap(([citation, number = '']) => (decisions.has(number) ? [] : [citation]));
}

/** RFC citations in a form other than `RFC 9110` or `RFC 9110 § 7.2`. */
function formlessRfcs(text: string): string[] {
  const mentioned = /(?<![\w/.-])rfc[ -]?\d+(?:,? (?:section|sec\.|s|§)? ?[\d.]+)?/gi;
  const form = /^RFC [1-9]\d{2,3}(?: § [1-9]\d*(?:\.\d+)*\.?)?$/;
  return [...text.matchAll(mentioned)].flatMap(([mention]) =>
    form.test(mention.replace(/[ .]+$/, '')) ? [] : [mention],
  );
}

/**
 * Missing files that a path from the project's root or a page's name cites: `test/hostile/cases.ts`, `THREATS.md`.
 */
function deadPaths(text: string, { exists }: Citable): string[] {
  const paths = [...text.matchAll(PATH)].flatMap(([path]) => (exists(path) || PLACEHOLDER.test(path) ? [] : [path]));
  const pages = [...text.matchAll(/(?<![\w/.-])[A-Z]{4,}\.md\b/g)].map(([page]) => page);
  return [...paths, ...pages.filter((page) => !exists(page) && !exists(`docs/${page}`))];
}

/** Links in a document to missing files beside it, or to missing headings: `API.md#errors`. */
function deadLinks(file: string, text: string, { exists, document }: Citable): string[] {
  return [...text.matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].flatMap(([link, path = '', anchor]) => {
    const target = path === '' ? file : normalize(join(dirname(file), path));
    if (!exists(target)) return [link];
    return anchor === undefined || headingsOf(document(target) ?? '').includes(anchor) ? [] : [link];
  });
}

/** The headings of a document, as links spell them. */
function headingsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}
