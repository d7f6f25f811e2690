import * as contract from '@vouchbox/protocol/vocabulary';
import { expect, test } from 'vitest';
import { BOUNDS } from './grade-test.ts';

test('a grading has the bounds that the contract states', () => {
  expect(contract).toMatchObject(BOUNDS);
});
