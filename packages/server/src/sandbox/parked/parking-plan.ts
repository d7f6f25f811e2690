/** Plans how many cells of each kind to park if the memory does not suffice for all that are wanted. */

/** One kind of cell. */
export interface Wanted {
  readonly wanted: number;
  /** The memory of one cell in bytes; null if no cell was made yet. */
  readonly bytes: number | null;
  /** Kinds with a higher rank go first. */
  readonly rank: number;
}

/** The most parked cells in all: besides memory, each cell takes descriptors, users and processes. */
const CELLS_MAX = 64;

/**
 * Plans one cell of each kind, then a second, and so on, until the memory is used. A kind of unknown size gets one cell, which
 * shows the size. Returns a number for each kind, in the given order.
 */
export function planParking(kinds: readonly Wanted[], bytesMax: number): readonly number[] {
  const plan = kinds.map(() => 0);
  const order = kinds.map((_, at) => at).toSorted((a, b) => (kinds[b]?.rank ?? 0) - (kinds[a]?.rank ?? 0));
  let bytesLeft = bytesMax;
  let cellsLeft = CELLS_MAX;
  for (let round = 1; round <= CELLS_MAX; round++) {
    for (const at of order) {
      const { wanted, bytes } = kinds[at] as Wanted;
      const isPossible = bytes === null ? round === 1 && bytesLeft > 0 : plan[at] === round - 1 && bytes <= bytesLeft;
      if (wanted < round || cellsLeft === 0 || !isPossible) continue;
      plan[at] = round;
      bytesLeft -= bytes ?? 0;
      cellsLeft -= 1;
    }
  }
  return plan;
}
