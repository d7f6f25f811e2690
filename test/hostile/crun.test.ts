import { describe } from 'vitest';
import { describeHostile } from './hostile-suite.ts';

describe('the namespace class, under crun', () => {
  describeHostile('namespace', 'crun');
});
