/** Which longer run this is: .ci/run makes one of them. CONTRIBUTING.md names the tests that only longer runs have. */
import { test } from 'vitest';

/** True in `npm run long`, which also runs tests that take very long, and with larger sizes. */
export const isLongForm = process.env['TEST_FORM'] === 'long';

/** A test that takes seconds and alone shows no statement. `npm test` leaves it to `npm run long`. */
export const slowTest = process.env['TEST_FORM'] === 'short' ? test.skip : test;

/** True in `npm run packs`, which runs all tests of the shipped packs. */
export const hasEveryPack = process.env['PACKS'] === 'all';
