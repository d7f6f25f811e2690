/** The size of a test's load: small by default, full with `CONTRACT_LOAD=full`. Both sizes test the same claims. */
export function loadSize({ small, full }: { readonly small: number; readonly full: number }): number {
  return process.env['CONTRACT_LOAD'] === 'full' ? full : small;
}

/** The timeout for tests that exceed the usual timeout at their full size. */
export const loadTimeout = { timeout: process.env['CONTRACT_LOAD'] === 'full' ? 1_200_000 : 120_000 } as const;
