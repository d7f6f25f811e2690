import { describe } from 'vitest';
import { isShortForm } from '../rig/form.ts';
import { appliesTo } from './hostile-case.ts';
import { describeHostile } from './hostile-suite.ts';
import { LAUNCHERS } from './launchers.ts';

describe('the gvisor class', () => {
  // `npm test` tries the attacks on both classes on the namespace class alone.
  describeHostile('gvisor', LAUNCHERS.gvisor[0], (attack) => !isShortForm || !appliesTo(attack, 'namespace'));
});
