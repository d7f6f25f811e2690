/** The size of a test's load: small in every run, and full with `CONTRACT_LOAD=full`. Both test the same claims. */
export function loadSize({ small, full }: { readonly small: number; readonly full: number }): number {
  return process.env['CONTRACT_LOAD'] === 'full' ? full : small;
}

/** The timeout of tests whose full size takes longer than the usual timeout. */
export const loadTimeout = { timeout: process.env['CONTRACT_LOAD'] === 'full' ? 1_200_000 : 120_000 } as const;
