/** How many slots one tenant may hold. Both the choice of the next queued job and a start without the queue obey this number. */
import type { Shares } from '../records/inputs.ts';

/** How many slots one tenant may hold. `tenants` lists the tenants that ever submitted a job; two of them are enough. */
export function fairShare({ slots, tenantSlots }: Shares, tenants: readonly string[]): number {
  return tenantSlots ?? (tenants.length > 1 ? Math.max(1, slots - 1) : slots);
}
