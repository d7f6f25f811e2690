/** What jobs get their cells from, and whether it can make any at present. */
import type { CellKind, Provider, Sandbox } from '../../sandbox/sandbox.ts';

export interface Cells extends Pick<Provider, 'prepare'> {
  /**
   * A cell that waits at the workload-ready boundary, at once; null if none does. It is the caller's to dispose of.
   * Whoever gets none, or one that fails at the hand-over, may go on to `prepare`, which also waits for one.
   */
  take(kind: CellKind): Sandbox | null;
  /** Whether the last that is known is that cells can be made. Asking may begin a trial, and never waits for one. */
  isReady(): boolean;
  /** Whether cells can be made, by a trial that begins now or is under way: asked when a cell could not be made. */
  proven(): Promise<boolean>;
}
