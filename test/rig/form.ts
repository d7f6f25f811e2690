/** Which longer run this is: .ci/run makes one of them. CONTRIBUTING.md names the tests that only longer runs have. */

/** True in `npm run long`, which also runs tests that take long. */
export const isLongForm = process.env['TEST_FORM'] === 'long';

/** True in `npm run packs`, which runs all tests of the shipped packs. */
export const hasEveryPack = process.env['PACKS'] === 'all';
