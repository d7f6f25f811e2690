/**
 * How many of the slots one tenant may hold, which the store's choice of the next job and a start without a queue must
 * both keep to.
 */

/** What bounds a tenant's share. */
export interface Shares {
  /** How many jobs may be in flight at once. */
  readonly slots: number;
  /** How many of them one tenant may have; null stands for all while it is the only one ever, and else all but one. */
  readonly tenantSlots: number | null;
}

/** What one tenant may have of the slots. `tenants` are those that ever submitted a job: two of them say it all. */
export function fairShare({ slots, tenantSlots }: Shares, tenants: readonly string[]): number {
  return tenantSlots ?? (tenants.length > 1 ? Math.max(1, slots - 1) : slots);
}
