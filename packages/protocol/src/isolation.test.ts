import { describe, expect, test } from 'vitest';
import { ISOLATION_CLASSES, type IsolationClass, satisfiesIsolation } from './isolation.ts';

/** Every minimum that each observed class satisfies. */
const SATISFIED: Record<IsolationClass, readonly IsolationClass[]> = {
  none: ['none'],
  'linux-shared-kernel': ['none', 'linux-shared-kernel'],
  'gvisor-application-kernel': ['none', 'linux-shared-kernel', 'gvisor-application-kernel'],
  'hardware-vm': ['none', 'linux-shared-kernel', 'gvisor-application-kernel', 'hardware-vm'],
  'confidential-vm': ['none', 'linux-shared-kernel', 'gvisor-application-kernel', 'hardware-vm', 'confidential-vm'],
  'wasm-capability': ['none', 'wasm-capability'],
};

const PAIRS = ISOLATION_CLASSES.flatMap((observed) => ISOLATION_CLASSES.map((minimum) => [observed, minimum] as const));

describe('the order of isolation classes (Spec § Job submission)', () => {
  test.each(PAIRS)(
    'is right for an observed %s and a minimum of %s',
    { tags: ['Submission-27', 'Submission-28', 'Submission-29'] },
    (observed, minimum) => {
      expect(satisfiesIsolation(observed, minimum)).toBe(SATISFIED[observed].includes(minimum));
    },
  );
});
