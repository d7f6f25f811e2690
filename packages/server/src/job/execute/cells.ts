/** Where jobs get their cells, and whether cells can be made at present. */
import { hasLibraries, type RequestedSpec } from '@vouchbox/protocol';
import type { CellKind, PreparedCell, Provider } from '../../sandbox/sandbox.ts';

export interface Cells extends Pick<Provider, 'prepare'> {
  /**
   * A cell that waits at the workload-ready boundary, or null if there is none. The caller disposes of it. If there is no
   * cell, or the cell fails at the hand-over, the caller may call `prepare`, which waits for a cell.
   */
  take(kind: CellKind): PreparedCell | null;
  /** Whether cells can be made, as far as is known now. The call may begin a trial, but never waits for it. */
  isReady(): boolean;
  /**
   * Whether cells can be made, according to a trial that is under way or begins now. Called when a cell could not be made.
   */
  proven(): Promise<boolean>;
}

/** The kind of cell that a job needs. */
export function kindFor(spec: RequestedSpec, owner: string): CellKind {
  const { language, runtime, build, product, reproducible, tools } = spec;
  const ofProduct = product === undefined ? undefined : 'product';
  const stage = build === undefined ? ofProduct : 'build';
  const own = { ...(tools !== undefined && { hasTools: true }), ...(hasLibraries(spec) && { hasLibraries: true }) };
  return { language, runtime, owner, stage, reproducible, ...own };
}
