import { describe, expect, it } from 'vitest';
import { hostPatience, patienceFor } from './patience.ts';

describe('the factor that lengthens deadlines on a slow host', () => {
  it.each([
    ['an ordinary host', 40, 1],
    ['a host of a tenth of the speed', 400, 2],
    ['a busy host', 401.5, 3],
    ['an emulated host', 1000, 5],
    ['a host that is slower than any deadline can bear', 60_000, 12],
  ])('is right for %s, whose test work takes %i ms: %i', (_title, milliseconds, factor) => {
    expect(patienceFor(milliseconds)).toBe(factor);
  });

  it('is measured once for each process', async () => {
    expect(hostPatience()).toBe(hostPatience());
    expect(await hostPatience()).toBeGreaterThanOrEqual(1);
    expect(await hostPatience()).toBeLessThanOrEqual(12);
  });
});
