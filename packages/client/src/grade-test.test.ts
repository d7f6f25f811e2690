import * as contract from '@vouchbox/protocol/vocabulary';
import { expect, test } from 'vitest';
import { BOUNDS } from './grade-test.ts';

test('the bounds of a grading are those of the contract', () => {
  expect(contract).toMatchObject(BOUNDS);
});
