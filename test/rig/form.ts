/** The tests that `npm test` leaves to longer runs, one of which .ci/run makes. CONTRIBUTING.md names these runs. */

/** True in `npm run long`, which also runs tests that take long. */
export const isLongForm = process.env['TEST_FORM'] === 'long';

/** True in `npm run packs`, which runs all tests of the shipped packs. */
export const hasEveryPack = process.env['PACKS'] === 'all';
