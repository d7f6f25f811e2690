/** The names of all steps, in the order in which each kind of store takes them. A new step comes last in both lists. */
import { expect, test } from 'vitest';
import { STEPS as POSTGRES } from '../postgres/migrations/steps.ts';
import { STEPS as SQLITE } from '../sqlite/migrations/steps.ts';

const FIRST = ['0004-with-used-outputs', '0004-with-verdicts', '0004-with-whole-outputs', '0004-with-whole-programs'];
const THEN = [
  '0004-with-written-log',
  '0004-without-lost-promises',
  '0004-without-silent-tools',
  '0004-written-beside',
  '0004-written-sessions',
  '0004-written-with-labels',
  '0004-written-with-links',
  '0004-written-with-lists',
];
const namesOf = (steps: readonly { readonly name: string }[]) => steps.map(({ name }) => name);

test('the order of migration steps never changes, because PostgreSQL numbers them by it', () => {
  expect(namesOf(SQLITE)).toEqual([
    ...['0001-jobs', '0003-receipts', '0004-schema'],
    ...[...FIRST, '0004-with-whole-statements', ...THEN],
  ]);
  expect(namesOf(POSTGRES)).toEqual([
    '0004-schema',
    ...[...FIRST, '0004-with-whole-statements', '0004-with-wide-fleets', ...THEN],
  ]);
});
