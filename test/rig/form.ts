/** The tests that `npm test` leaves to longer runs, of which .ci/run makes one. Each is named in CONTRIBUTING.md. */

/** `npm run long`: tests that take long for what they show. */
export const isLongForm = process.env['TEST_FORM'] === 'long';

/** `npm run packs`: all tests of the shipped packs. */
export const hasEveryPack = process.env['PACKS'] === 'all';
