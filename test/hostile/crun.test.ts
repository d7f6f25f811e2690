import { describe } from 'vitest';
import { describeHostile } from './hostile-suite.ts';
import { serviceCases } from './service-cases.ts';

/**
 * The cases that do not depend on the cell's launcher. They are about an unusable crun, an interpreter's heap, the
 * outputs that the service collects, and how the kernel divides its processors.
 */
const THE_SAME: ReadonlySet<string> = new Set(['ESC-30', 'ESC-31', 'RES-09', 'RES-18', 'RES-28', 'NEXT-03', 'NEXT-05']);

describe('the namespace class, under crun', () => {
  describeHostile(
    'namespace',
    'crun',
    (hostileCase) => !(serviceCases.includes(hostileCase) || THE_SAME.has(hostileCase.id)),
  );
});
