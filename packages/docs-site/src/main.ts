/** Searches the documents. The first search loads the sections as a script, because even a page opened as a file may load one. */
import MiniSearch from 'minisearch';
import './site.css';

type Section = readonly [address: string, title: string, heading: string, text: string];

declare global {
  interface Window {
    /** The file with the sections calls this function. */
    vouchboxSections?: (sections: readonly Section[]) => void;
  }
}

const FOUND_MAX = 20;
const EXCERPT_CHARACTERS = 160;
/** Characters with a special meaning in a pattern. */
const SPECIAL = /[\\^$.*+?()[\]{}|/]/g;

const { root = '', sections: file = '' } = document.documentElement.dataset;
const field = document.querySelector<HTMLInputElement>('#search') as HTMLInputElement;
const found = document.querySelector('#found') as HTMLElement;
const article = document.querySelector('article') as HTMLElement;

interface Index {
  readonly search: MiniSearch;
  readonly sections: readonly Section[];
}
let index: Promise<Index> | null = null;

function loadIndex(): Promise<Index> {
  return new Promise((resolve, reject) => {
    window.vouchboxSections = (sections) => resolve(indexOf(sections));
    const script = document.createElement('script');
    script.src = root + file;
    script.addEventListener('error', () => reject(new Error('the sections cannot be loaded')));
    document.head.append(script);
  });
}

function indexOf(sections: readonly Section[]): Index {
  const search = new MiniSearch({
    fields: ['title', 'heading', 'text'],
    searchOptions: { boost: { title: 2, heading: 4 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
  });
  search.addAll(sections.map(([, title, heading, text], id) => ({ id, title, heading, text })));
  return { search, sections };
}

async function show(): Promise<void> {
  const query = field.value.trim();
  found.hidden = query === '';
  article.hidden = query !== '';
  if (query === '') return;
  index ??= loadIndex();
  const { search, sections } = await index;
  if (query !== field.value.trim()) return;
  const results = search.search(query);
  const status = document.createElement('p');
  status.role = 'status';
  status.textContent = results.length === 0 ? 'Nothing was found.' : `${results.length} found`;
  const list = document.createElement('ol');
  for (const { id, terms } of results.slice(0, FOUND_MAX)) list.append(rowOf(sections[id as number] as Section, terms));
  const heading = document.createElement('h1');
  heading.textContent = 'Search';
  found.replaceChildren(heading, status, list);
}

function rowOf([address, title, heading, text]: Section, terms: readonly string[]): HTMLElement {
  const row = document.createElement('li');
  const link = document.createElement('a');
  link.href = root + address;
  link.textContent = heading === title ? title : `${title} › ${heading}`;
  // The link may lead to the current page. That page is not loaded again, so its text must be shown again.
  link.addEventListener('click', leave);
  const excerpt = document.createElement('p');
  excerpt.append(...excerptOf(text, terms));
  row.append(link, excerpt);
  return row;
}

/** Shows the page again. */
function leave(): void {
  field.value = '';
  void show();
}

/** The text around the first term, with each term marked. */
function excerptOf(text: string, terms: readonly string[]): (string | HTMLElement)[] {
  const word = terms.map((term) => term.replaceAll(SPECIAL, '\\$&')).join('|');
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${word})(?![\\p{L}\\p{N}])`, 'iu');
  const near = Math.max(0, text.search(pattern) - EXCERPT_CHARACTERS / 4);
  const from = near === 0 ? 0 : text.indexOf(' ', near) + 1;
  const piece = text.slice(from, from + EXCERPT_CHARACTERS);
  const parts = piece.split(new RegExp(pattern.source, 'giu')).map((part, at) => {
    if (at % 2 === 0) return part;
    const mark = document.createElement('mark');
    mark.textContent = part;
    return mark;
  });
  return [from > 0 ? '… ' : '', ...parts, from + EXCERPT_CHARACTERS < text.length ? ' …' : ''];
}

field.closest('search')?.removeAttribute('hidden');
field.addEventListener('input', () => {
  show().catch(() => {
    index = null;
    found.textContent = 'The search could not be loaded. Try again.';
  });
});
field.addEventListener('keydown', ({ key }) => {
  if (key === 'Enter') found.querySelector('a')?.click();
  if (key === 'Escape') leave();
});
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target === field) return;
  event.preventDefault();
  field.focus();
});
// On a narrow screen, the table of contents can be opened and closed.
const narrow = matchMedia('(width < 60rem)');
const foldContents = () => document.querySelector('details.contents')?.toggleAttribute('open', !narrow.matches);
foldContents();
narrow.addEventListener('change', foldContents);
