/** What jobs get their cells from, and whether it can make any at present. */
import type { Provider } from '../../sandbox/sandbox.ts';

export interface Cells extends Pick<Provider, 'prepare'> {
  /** Whether the last that is known is that cells can be made. Asking may begin a trial, and never waits for one. */
  isReady(): boolean;
  /** Whether cells can be made, by a trial that begins now or is under way: asked when a cell could not be made. */
  proven(): Promise<boolean>;
}
