/** How many slots one tenant may hold. The store's choice of the next job and a start without the queue both obey this number. */
import type { Shares } from '../records/inputs.ts';

/** How many slots one tenant may have. `tenants` are the tenants that ever submitted a job; a list of two is enough. */
export function fairShare({ slots, tenantSlots }: Shares, tenants: readonly string[]): number {
  return tenantSlots ?? (tenants.length > 1 ? Math.max(1, slots - 1) : slots);
}
