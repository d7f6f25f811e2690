/** The names of all steps, in the order in which each kind of store takes them. A new step comes last in both lists. */
import { expect, test } from 'vitest';
import { STEPS as POSTGRES } from '../postgres/migrations/steps.ts';
import { STEPS as SQLITE } from '../sqlite/migrations/steps.ts';

const namesOf = (steps: readonly { readonly name: string }[]) => steps.map(({ name }) => name);

test('the order of migration steps never changes, because PostgreSQL numbers them by it', () => {
  expect(namesOf(SQLITE)).toEqual(['0001-jobs', '0003-receipts', '0004-store']);
  expect(namesOf(POSTGRES)).toEqual(['0004-store']);
});

test('each step has a name that comes after the names of all earlier steps', () => {
  for (const names of [namesOf(SQLITE), namesOf(POSTGRES)]) expect(names).toEqual(names.toSorted());
});
