/** The tests that only longer runs have, and not `npm test`. .ci/run makes one such run. CONTRIBUTING.md names them. */

/** True in `npm run long`, which also runs tests that take long. */
export const isLongForm = process.env['TEST_FORM'] === 'long';

/** True in `npm run packs`, which runs all tests of the shipped packs. */
export const hasEveryPack = process.env['PACKS'] === 'all';
