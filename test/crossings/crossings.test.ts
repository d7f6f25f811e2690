/** The short form of the matrix of crossings, and rules for the matrix's tables. `npm run crossings` tries every cell. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { builtPacks } from '../../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { isLongForm } from '../rig/form.ts';
import { FEATURES, ROWS_OF_THE_CODE } from './features.ts';
import { CELLS, sentenceOf, shortForm } from './matrix.ts';
import { pageOf } from './page.ts';
import { PLACE_NAMES, PLACES } from './places.ts';
import { type Outcome, runCells } from './run-cells.ts';
import { PACKS, SCENARIOS } from './scenarios.ts';
import { removeDirectories } from './service.ts';

const root = join(import.meta.dirname, '../..');
afterAll(removeDirectories);

describe.runIf(isLongForm)('a feature works at a place, in the short form:', async () => {
  const packs = builtPacks(PACKS);
  if (packs === null)
    process.stdout.write('crossings: no pack is built, so npm run crossings tries the features that need a pack\n');
  const cells = shortForm(inject('propertySeed'), packs !== null);
  const outcomes: Outcome[] = [];
  const ran = () => runCells(cells, { atOnce: 4, packs, onOutcome: (outcome) => outcomes.push(outcome) });
  let running: Promise<void> | undefined;

  test.each(cells)('$feature, $place', { timeout: 600_000 }, async ({ place, feature }) => {
    running ??= ran();
    await running;
    const outcome = outcomes.find((one) => one.place === place && one.feature === feature);
    expect(outcome?.problem).toBe(null);
  });
});

test('every feature is tried at ten places or more, and every place tries at least one feature', () => {
  for (const feature of FEATURES) expect(CELLS.filter((cell) => cell.feature === feature).length).toBeGreaterThan(9);
  const empty = PLACE_NAMES.filter((place) => !CELLS.some((cell) => cell.place === place));
  expect(empty).toEqual(process.getuid?.() === 0 ? ['ordinary-user'] : []);
});

test('every client in clients/ has its column in the table of crossings', () => {
  const clients = readdirSync(join(root, 'clients'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(PLACE_NAMES).toEqual(expect.arrayContaining(clients.map(({ name }) => `${name}-client`)));
});

test('each reason why a feature cannot be tried at a place is one sentence', () => {
  for (const place of PLACE_NAMES) {
    for (const feature of FEATURES) expect(sentenceOf(place, feature) ?? 'It runs.').toMatch(/^[A-Z`].*\.$/);
  }
});

test('a feature without a row in the table names an existing test file that tries the feature', () => {
  const elsewhere = Object.values(ROWS_OF_THE_CODE).flatMap((rows) => Object.values(rows));
  const missing = elsewhere.filter((row) => !(row in SCENARIOS || existsSync(join(root, row))));
  expect(missing).toEqual([]);
});

test('the page has a mark for each feature at each place, and describes every place where a feature failed', () => {
  const outcomes = CELLS.map((cell) => ({ ...cell, problem: cell.place === 'http' ? 'broken' : null, seconds: 1 }));
  const page = pageOf({ outcomes, day: '2026-01-02', seconds: 61, processors: 2 });
  const rows = page.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('|  |'));
  for (const row of rows) expect(row).not.toMatch(/\|\s+\|/);
  expect(page.match(/\*\*✗\*\*/g)).toHaveLength(CELLS.filter(({ place }) => place === 'http').length + 1);
  expect(page).toContain(PLACES.http.title);
});
