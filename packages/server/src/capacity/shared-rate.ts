/**
 * Request budgets of a service that has several nodes. Each node has a bucket for each tenant, and tells the others
 * several times a second what was spent at it: they take it from theirs. So a tenant keeps to its rate on average,
 * whichever nodes it asks, and can exceed its burst only in the moment before the others know.
 */
import type { RateBudget } from './rate.ts';

/** The other nodes. What is told may be lost: the tenant may then spend a little more. */
export interface Others {
  tell(topic: string): void;
  listen(listener: { heard(topics: readonly string[] | null): void; beat(): void }): void;
}

const tellMilliseconds = 200;
/** A tenant's name has no blanks. */
const SPENT = /^spent (\S+) (\d{1,6})$/;

/** The same budget, of which other nodes take what they spent. */
export function sharedRate(budget: RateBudget, others: Others): RateBudget {
  const untold = new Map<string, number>();
  others.listen({
    heard(topics) {
      for (const topic of topics ?? []) {
        const [, tenant, tokens] = SPENT.exec(topic) ?? [];
        if (tenant !== undefined) budget.charge(tenant, Number(tokens));
      }
    },
    beat() {},
  });
  const tellAll = () => {
    for (const [tenant, tokens] of untold) others.tell(`spent ${tenant} ${tokens}`);
    untold.clear();
  };
  return {
    ...budget,
    spend(tenant) {
      const decision = budget.spend(tenant);
      if (!decision.allowed) return decision;
      if (untold.size === 0) setTimeout(tellAll, tellMilliseconds).unref();
      untold.set(tenant, (untold.get(tenant) ?? 0) + 1);
      return decision;
    },
  };
}
