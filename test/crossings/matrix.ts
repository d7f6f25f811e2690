/** The cells of the matrix: which of them are tried, and which features cannot be tried at which places. */
import { FEATURES, type Feature } from './features.ts';
import type { Place } from './place.ts';
import { PLACE_NAMES, PLACES, type PlaceName } from './places.ts';
import type { Cell } from './run-cells.ts';
import { SCENARIOS } from './scenarios.ts';

/** Why a feature cannot be tried at a place, in a sentence; null if the feature can be tried there. */
export function sentenceOf(place: PlaceName, feature: Feature): string | null {
  const { except }: Place = PLACES[place];
  return except[feature] ?? null;
}

/** Every cell that is tried, column by column. */
export const CELLS: readonly Cell[] = PLACE_NAMES.flatMap((place) =>
  FEATURES.filter((feature) => sentenceOf(place, feature) === null).map((feature) => ({ place, feature })),
);

/** Places that start quickly and need no browser. `npm run long` tries the others. */
const QUICK: readonly PlaceName[] = [
  ...(['http', 'typescript-client', 'python-client', 'command', 'mcp', 'piston', 'judge0', 'sandbox-fusion'] as const),
  ...(['grading', 'export-by-command', 'export-by-library', 'backup', 'fork'] as const),
];

/**
 * The short form: every feature over HTTP, and one feature at each other quick place. The seed chooses that feature.
 * Features that need a pack are left out if the packs are not built.
 */
export function shortForm(seed: number, hasPacks: boolean): Cell[] {
  const cells = CELLS.filter(({ feature }) => hasPacks || SCENARIOS[feature].needs === undefined);
  return QUICK.flatMap((place, index) => {
    const there = cells.filter((cell) => cell.place === place);
    if (place === 'http') return there;
    return there.slice((seed + index) % there.length).slice(0, 1);
  });
}
