/**
 * One sentence of the specification, or one row of the catalogue of attacks, and the tests that show it: `FILE › TITLE`.
 * FILE is short for its path, as `fileOf` says; TITLE is what the test or its group is called, or a part of it.
 */
export type Promised = readonly [sentence: string, ...shownBy: readonly [string, ...string[]]];

const PLACES: Readonly<Record<string, string>> = {
  contract: 'test/contract',
  hostile: 'test/hostile',
  crash: 'test/crash',
  interoperability: 'test/interoperability',
};

/** The path of a test file from the project's root: `contract/list`, or `PACKAGE/PATH` of a file below that package's `src`. */
export function fileOf(short: string): string {
  const [place = '', ...rest] = short.split('/');
  return `${PLACES[place] ?? `packages/${place}/src`}/${rest.join('/')}.test.ts`;
}
