import { describe } from 'vitest';
import { describeHostile } from './hostile-suite.ts';

/**
 * The cases that depend on the start of gVisor's two processes. All other cases test gVisor's own kernel, which is the
 * same for both launchers.
 */
const OF_THE_START: ReadonlySet<string> = new Set(['ESC-01', 'ESC-03', 'ESC-16', 'ESC-25', 'ESC-27', 'ESC-36']);

describe('the gvisor class, started by runsc', () => {
  describeHostile('gvisor', 'runsc', ({ id }) => OF_THE_START.has(id));
});
