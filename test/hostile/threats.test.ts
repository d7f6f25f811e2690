/** docs/THREATS.md says what is tried, and nothing else. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { hostileCases } from './cases.ts';
import { HOSTILE_CLASSES } from './hostile-case.ts';
import { THREATS, threatsDocument } from './threats-table.ts';

const WRITER = fileURLToPath(import.meta.resolve('./write-threats.ts'));

test('the table is the one that the cases make', () => {
  expect(readFileSync(THREATS, 'utf8'), `npx node ${WRITER} writes it`).toBe(threatsDocument());
});

test('every case has a title of its own, and what is accepted is accepted for a class that it is tried on', () => {
  const titles = hostileCases.map(({ id, title }) => `${id} ${title}`);
  expect(new Set(titles).size).toBe(titles.length);
  const stray = hostileCases.filter(({ accepted = {}, classes = HOSTILE_CLASSES }) =>
    Object.keys(accepted).some((name) => !classes.some((one) => one === name)),
  );
  expect(stray.map(({ id }) => id)).toEqual([]);
});

/** Rows of the catalogue of attacks on cells; all of them, so that none is forgotten. */
const ROWS: Readonly<Record<string, readonly number[]>> = {
  ESC: [
    1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 15, 16, 17, 18, 20, 21, 22, 23, 25, 26, 27, 28, 30, 31, 32, 33, 35, 36, 37,
  ],
  RES: [1, 3, 4, 5, 6, 8, 9, 10, 11, 13, 14, 15, 16, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 30],
  ART: [1, 3, 4, 5, 6, 8, 9, 10, 11, 13, 14, 15, 16],
};

test('every row of the catalogue is tried', () => {
  const tried = new Set(hostileCases.map(({ id }) => id));
  const rows = Object.entries(ROWS).flatMap(([section, numbers]) =>
    numbers.map((number) => `${section}-${String(number).padStart(2, '0')}`),
  );
  expect(rows.filter((row) => !tried.has(row))).toEqual([]);
});
