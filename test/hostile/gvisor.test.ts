import { describe } from 'vitest';
import { appliesTo } from './hostile-case.ts';
import { describeHostile } from './hostile-suite.ts';
import { LAUNCHERS } from './launchers.ts';

describe('the gvisor class', () => {
  // The attacks on both classes are tried on the namespace class, and in the long form on this class, too.
  describeHostile('gvisor', LAUNCHERS.gvisor[0], (hostileCase) => !appliesTo(hostileCase, 'namespace'));
});
