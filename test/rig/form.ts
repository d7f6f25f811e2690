/** What `npm test` leaves to longer runs, which .ci/run makes too. Each is named in CONTRIBUTING.md. */

/** `npm run long`: what takes long beside what it shows. */
export const isLongForm = process.env['TEST_FORM'] === 'long';

/** `npm run packs`: everything that is shown of the shipped packs. */
export const hasEveryPack = process.env['PACKS'] === 'all';
