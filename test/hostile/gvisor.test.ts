import { describe } from 'vitest';
import { describeHostile } from './hostile-suite.ts';

describe('the gvisor class', () => {
  describeHostile('gvisor');
});
