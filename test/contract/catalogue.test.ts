/** Every sentence of the specification, and every row of the catalogue of attacks on its door, has tests that name it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ATTACKS } from './catalogue/attacks.ts';
import { AUTHENTICATION } from './catalogue/authentication.ts';
import { ENDPOINTS } from './catalogue/endpoints.ts';
import { ERRORS } from './catalogue/errors.ts';
import { EVENTS } from './catalogue/events.ts';
import { LIMITS } from './catalogue/limits.ts';
import { fileOf, type Promised } from './catalogue/promise.ts';
import { RESOURCES } from './catalogue/resources.ts';
import { VERSIONING } from './catalogue/versioning.ts';

const ROOT = join(import.meta.dirname, '../..');
const SECTIONS = { RESOURCES, ENDPOINTS, AUTHENTICATION, EVENTS, ERRORS, LIMITS, VERSIONING, ATTACKS };

const texts = new Map<string, string>();
function textOf(file: string): string {
  const path = join(ROOT, file);
  const text = texts.get(file) ?? (existsSync(path) ? readFileSync(path, 'utf8') : '');
  texts.set(file, text);
  return text;
}

/** Those tests of a promise that there are not: the file is gone, or nothing in it is called so. */
function missing([sentence, ...shownBy]: Promised): string[] {
  return shownBy
    .filter((reference) => {
      const [short = '', title = ''] = reference.split(' › ');
      return !textOf(fileOf(short))
        .split('\n')
        .some((line) => isTitle(line, title));
    })
    .map((reference) => `${sentence}: ${reference}`);
}

/** Whether a line has the title in a text of its own, and not in a comment. */
function isTitle(line: string, title: string): boolean {
  return title !== '' && line.includes(title) && /['"`]/.test(line.slice(0, line.indexOf(title)));
}

test.each(Object.entries(SECTIONS))('%s: each sentence is shown by tests that there are', (_section, promises) => {
  expect(promises.flatMap(missing)).toEqual([]);
  const sentences = promises.map(([sentence]) => sentence);
  expect(new Set(sentences).size).toBe(sentences.length);
});

/** Rows of the catalogue of attacks; all of them, so that none is forgotten. */
const ROWS: Readonly<Record<string, readonly number[]>> = {
  AUTH: [1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 18, 19, 20],
  E: [1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 18, 19, 21, 22, 23, 24, 26],
  BODY: [1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13],
  IDEM: [2, 3, 4, 5, 7, 8, 9, 10],
};

test('every row of the catalogue of attacks has its tests', () => {
  const rows = Object.entries(ROWS).flatMap(([section, numbers]) =>
    numbers.map((number) => `${section}-${String(number).padStart(2, '0')}`),
  );
  expect(ATTACKS.map(([row]) => row)).toEqual(rows);
});

test('a test that is not there is noticed', () => {
  expect(missing(['x', 'contract/list › nobody wrote this', 'contract/nowhere › pages'])).toHaveLength(2);
  expect(missing(['x', 'contract/list › pages'])).toEqual([]);
});
