/** Which longer run this is: .ci/run makes one of them. CONTRIBUTING.md names the tests that only longer runs have. */
import { test } from 'vitest';
import { form } from '../../tools/test-forms.ts';

/** True in `npm test`. */
export const isShortForm = form === 'short';

/** True in `npm run long`, and with `TEST_FORM=whole`: these also run tests that take minutes, and use the largest sizes. */
export const isLongForm = form === 'long' || form === 'whole';

/** A test that takes seconds and alone shows no statement. `npm test` leaves it to `npm run long`. */
export const slowTest = isShortForm ? test.skip : test;

/** True in `npm run packs`, which runs all tests of the shipped packs. */
export const hasEveryPack = process.env['PACKS'] === 'all';
