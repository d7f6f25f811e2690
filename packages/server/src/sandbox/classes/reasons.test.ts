import { expect, it } from 'vitest';
import { sayReasons } from './reasons.ts';

it('a reason that several platforms share is stated once', () => {
  const reasons = sayReasons([
    ['systrap', 'run it as root'],
    ['kvm', 'there is no /dev/kvm'],
    ['ptrace', 'run it as root'],
  ]);
  expect(reasons).toBe('systrap, ptrace: run it as root; kvm: there is no /dev/kvm');
});
