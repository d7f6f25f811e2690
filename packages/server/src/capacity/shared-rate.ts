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
/** A word for the budget, a tenant, whose name has no blanks, and tokens. */
const SPENT = /^(\S+) (\S+) (\d{1,12})$/;

/** A budget that counts what the tenant spends at other nodes, too. `word` is its name among the budgets of a service. */
export function sharedRate(budget: RateBudget, others: Others, word = 'spent'): RateBudget {
  const untold = new Map<string, number>();
  others.listen({
    heard(topics) {
      for (const topic of topics ?? []) {
        const [, budgetWord, tenant, tokens] = SPENT.exec(topic) ?? [];
        if (budgetWord === word && tenant !== undefined) budget.charge(tenant, Number(tokens));
      }
    },
    beat() {},
  });
  const tellAll = () => {
    for (const [tenant, tokens] of untold) others.tell(`${word} ${tenant} ${tokens}`);
    untold.clear();
  };
  const note = (tenant: string, tokens: number) => {
    if (untold.size === 0) setTimeout(tellAll, tellMilliseconds).unref();
    untold.set(tenant, (untold.get(tenant) ?? 0) + tokens);
  };
  return {
    spend(tenant) {
      const decision = budget.spend(tenant);
      if (decision.allowed) note(tenant, 1);
      return decision;
    },
    charge(tenant, tokens) {
      budget.charge(tenant, tokens);
      note(tenant, tokens);
    },
  };
}
