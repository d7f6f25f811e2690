/** docs/THREATS.md lists exactly what is tried. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { hostileCases } from './cases.ts';
import { HOSTILE_CLASSES } from './hostile-case.ts';
import { THREATS, threatsDocument } from './threats-table.ts';

const WRITER = fileURLToPath(import.meta.resolve('./write-threats.ts'));

test('the table equals the one made from the cases', () => {
  expect(readFileSync(THREATS, 'utf8'), `npx node ${WRITER} writes it`).toBe(threatsDocument());
});

test('every case has a unique title, and accepts a weakness only for a class that it is tried on', () => {
  const titles = hostileCases.map(({ id, title }) => `${id} ${title}`);
  expect(new Set(titles).size).toBe(titles.length);
  const stray = hostileCases.filter(({ accepted = {}, classes = HOSTILE_CLASSES }) =>
    Object.keys(accepted).some((name) => !classes.some((one) => one === name)),
  );
  expect(stray.map(({ id }) => id)).toEqual([]);
});
