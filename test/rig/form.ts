/** The form of this run of the tests. CONTRIBUTING.md names the tests that only longer runs have, and what .ci/run runs. */
import { test } from 'vitest';
import { form } from '../../tools/test-forms.ts';

/** True in `npm test`. */
export const isShortForm = form === 'short';

/** True in `npm run long`, and with `TEST_FORM=whole`. Both also run tests that take minutes, and use the largest sizes. */
export const isLongForm = form === 'long' || form === 'whole';

/** For a test that takes seconds and whose statements other tests show, too. `npm test` leaves the test to `npm run long`. */
export const slowTest = isShortForm ? test.skip : test;

/** For the other tests of a file that has slow ones. `npm run long` leaves them to `npm test`, which has shown them. */
export const quickTest = form === 'long' ? test.skip : test;

/** True in `npm run packs`, which runs all tests of the shipped packs. */
export const hasEveryPack = process.env['PACKS'] === 'all';
