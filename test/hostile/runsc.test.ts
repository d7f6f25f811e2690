import { describe } from 'vitest';
import { describeHostile } from './hostile-suite.ts';

/**
 * The cases that depend on how gVisor's two processes start. All other cases test gVisor's own kernel. This kernel is
 * the same with both launchers.
 */
const OF_THE_START: ReadonlySet<string> = new Set(['ESC-01', 'ESC-03', 'ESC-16', 'ESC-25', 'ESC-27', 'ESC-36']);

describe('the gvisor class, started by runsc', () => {
  describeHostile('gvisor', 'runsc', ({ id }) => OF_THE_START.has(id));
});
