/**
 * How much of a load a test makes: a little in every run, and all of it where `CONTRACT_LOAD=full` asks for it. Both make
 * the same claims.
 */
export function loadSize({ small, full }: { readonly small: number; readonly full: number }): number {
  return process.env['CONTRACT_LOAD'] === 'full' ? full : small;
}

/** For tests whose full size takes longer than a test may. */
export const loadTimeout = { timeout: process.env['CONTRACT_LOAD'] === 'full' ? 1_200_000 : 120_000 } as const;
