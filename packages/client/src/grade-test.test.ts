import * as contract from '@vouchbox/protocol/vocabulary';
import { expect, test } from 'vitest';
import { BOUNDS } from './grade-test.ts';

test("the client's bounds for a grading equal the bounds in the contract", () => {
  expect(contract).toMatchObject(BOUNDS);
});
