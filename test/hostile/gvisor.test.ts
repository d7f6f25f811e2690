import { describe } from 'vitest';
import { isShortForm } from '../rig/form.ts';
import { appliesTo } from './hostile-case.ts';
import { describeHostile } from './hostile-suite.ts';
import { LAUNCHERS } from './launchers.ts';

describe('the gvisor class', () => {
  // If an attack applies to both classes, `npm test` tries it only on the namespace class.
  describeHostile('gvisor', LAUNCHERS.gvisor[0], (attack) => !isShortForm || !appliesTo(attack, 'namespace'));
});
