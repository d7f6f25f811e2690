/** The source of cells for jobs, and whether it can make any at present. */
import { hasLibraries, type RequestedSpec } from '@vouchbox/protocol';
import type { CellKind, PreparedCell, Provider } from '../../sandbox/sandbox.ts';

export interface Cells extends Pick<Provider, 'prepare'> {
  /**
   * A cell that waits at the workload-ready boundary, or null if there is none. The caller disposes of it. A caller that gets
   * no cell, or a cell that fails at the hand-over, may call `prepare`, which waits for a cell.
   */
  take(kind: CellKind): PreparedCell | null;
  /** Whether cells can be made, as far as is known. The call may begin a trial, but never waits for one. */
  isReady(): boolean;
  /**
   * Whether cells can be made, shown by a trial that begins now or is under way. Called when a cell could not be made.
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
