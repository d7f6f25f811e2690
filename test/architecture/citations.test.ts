/** Everything that the code, the tests and the documents cite can be looked up in the tree. */
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Citable, citableIn, deadCitations } from './citations.ts';
import { sectionsOf, unresolvedCitations } from './contract-citations.ts';

const root = join(import.meta.dirname, '../..');
const CITING = [
  '{packages,test,tools,bench,packs}/**/*.{ts,mjs,cjs,c,h,py,pl,sh,md}',
  'docs/**/*.md',
  '*.{md,ts,cjs}',
  '.ci/run',
];
/** Files that are not checked: vectors written by others, and tests that cite missing things on purpose. */
const LEFT_OUT = /node_modules|^test\/vectors\/|^test\/architecture\/(citations|floors|size|statements)\.test\.ts$/;

const texts = globSync(CITING, { cwd: root })
  .filter((file) => !LEFT_OUT.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));

/** Everything that `look` finds in the texts, with the names of the texts' files. */
function found(look: (file: string, text: string) => string[]): string[] {
  return texts.flatMap(({ file, text }) => look(file, text).map((citation) => `${file}: ${citation}`));
}

describe('the texts of the project', () => {
  test('were found', () => {
    expect(texts.length).toBeGreaterThan(700);
  });

  test('cite only existing sections and statement numbers of docs/SPEC.md', () => {
    const contract = sectionsOf(readFileSync(join(root, 'docs/SPEC.md'), 'utf8'));
    expect(found((_file, text) => unresolvedCitations(text, contract))).toEqual([]);
  });

  test('give each decision record its own number', () => {
    const numbers = readdirSync(join(root, 'docs/decisions')).map((name) => name.slice(0, 4));
    expect(numbers.filter((number, at) => numbers.indexOf(number) !== at)).toEqual([]);
  });

  test('cite only existing ids, decision records, files and headings, and cite RFCs in one form', () => {
    const citable = citableIn(root);
    expect(found((file, text) => deadCitations(file, text, citable))).toEqual([]);
  });
});

describe('a text with citations', () => {
  const documents: Readonly<Record<string, string>> = { 'docs/PAGE.md': '# A page\n\n## One thing, and `another`\n' };
  const citable: Citable = {
    ids: new Set(['AUTH-01', 'Receipt-4a']),
    decisions: new Set(['0002']),
    exists: (path) => path in documents,
    document: (path) => documents[path] ?? null,
  };

  test.each([
    ['AUTH-01 and Receipt-4a', []],
    ['SHA-256 and UTF-8, which look like ids but are none', []],
    ['AUTH-02', ['AUTH-02']],
    ['Receipt-4', ['Receipt-4']],
    ['(decision 0002)', []],
    ['Decision 0003', ['Decision 0003']],
    ['RFC 9110, RFC 9110 § 7.2 and RFC 8785.', []],
    ['RFC9110', ['RFC9110']],
    ['RFC 9110 section 7', ['RFC 9110 section 7']],
    ['docs/PAGE.md', []],
    ['docs/NOWHERE.md', ['docs/NOWHERE.md']],
    ['PAGE.md and README of it', []],
    ['NOWHERE.md', ['NOWHERE.md']],
    ['[it](PAGE.md#one-thing-and-another)', []],
    ['[it](https://example.org/x#y)', []],
    ['[it](PAGE.md#two)', ['](PAGE.md#two)']],
    ['[it](nowhere.md)', ['](nowhere.md)']],
  ])('%j has the dead citations %j', (text, dead) => {
    expect(deadCitations('docs/THIS.md', text, citable)).toEqual(dead);
  });
});
