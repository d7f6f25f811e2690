/**
 * Request budgets of a service with several nodes. Each node has a bucket for each tenant. One node, chosen by the tenant's name,
 * owns the tenant's budget. Several times a second, the other nodes report to the owner what the tenant spent at them. Once
 * little is left, the owner tells the nodes at which the tenant spent. So a tenant keeps to its rate on average, whichever nodes
 * it asks, and can exceed its burst only until the other nodes know. No message goes to all nodes.
 */
import { sha256Hex } from '@vouchbox/evidence';
import type { RateBuckets, RateBudget } from './rate.ts';

/** The other nodes. Messages may be lost: the tenant may then spend a little more. */
export interface Others {
  readonly node: number;
  /** The living nodes with budgets. */
  owners(): readonly number[];
  tell(topic: string, to: number): void;
  listen(listener: { heard(topics: readonly string[] | null): void }): void;
}

const tellMilliseconds = 200;
/** A message: the budget's word, the tenant's name (without blanks), the spent tokens, and the node. */
const SPENT = /^(\S+) (\S+) (\d{1,12}) (\d{1,15})$/;
const LEFT = /^(\S+)-left (\S+) (-?\d{1,12})$/;

/** A budget that also counts the tenant's requests at other nodes. `word` names the budget in messages. */
export function sharedRate(budget: RateBuckets, others: Others, word = 'spent'): RateBudget {
  const shared = new SharedBudget(budget, others, word);
  return {
    spend(tenant) {
      const wasFull = shared.isFull(tenant);
      const decision = budget.spend(tenant);
      if (decision.allowed) shared.note(tenant, 1, wasFull);
      return decision;
    },
    charge(tenant, tokens) {
      const wasFull = shared.isFull(tenant);
      budget.charge(tenant, tokens);
      shared.note(tenant, tokens, wasFull);
    },
  };
}

class SharedBudget {
  readonly #budget: RateBuckets;
  readonly #others: Others;
  readonly #word: string;
  /** For each tenant, the tokens that were spent at this node and not yet reported to the node that owns the budget. */
  readonly #untold = new Map<string, number>();
  /** For each tenant whose budget this node owns: the other nodes where the tenant spent since the budget was full. */
  readonly #spentAt = new Map<string, Set<number>>();
  /** The tenants whose budgets this node owns and whose buckets changed since the last report to other nodes. */
  readonly #changed = new Set<string>();
  #timer: NodeJS.Timeout | null = null;

  constructor(budget: RateBuckets, others: Others, word: string) {
    this.#budget = budget;
    this.#others = others;
    this.#word = word;
    others.listen({
      heard: (topics) => {
        for (const topic of topics ?? []) this.#heard(topic);
      },
    });
  }

  isFull(tenant: string): boolean {
    return this.#budget.left(tenant) >= this.#budget.burst;
  }

  /** Notes what a tenant spent. The first request after a pause is reported at once: the owner may know of other requests. */
  note(tenant: string, tokens: number, isFirst: boolean): void {
    this.#untold.set(tenant, (this.#untold.get(tenant) ?? 0) + tokens);
    this.#tellSoon(isFirst ? 0 : tellMilliseconds);
  }

  #heard(topic: string): void {
    const [, leftWord, ofTenant, left] = LEFT.exec(topic) ?? [];
    if (leftWord === this.#word && ofTenant !== undefined) {
      this.#budget.lower(ofTenant, Number(left) - (this.#untold.get(ofTenant) ?? 0));
      return;
    }
    const [, word, tenant, tokens, node] = SPENT.exec(topic) ?? [];
    if (word !== this.#word || tenant === undefined) return;
    this.#budget.charge(tenant, Number(tokens));
    this.#spentAt.set(tenant, (this.#spentAt.get(tenant) ?? new Set()).add(Number(node)));
    this.#changed.add(tenant);
    if (this.#isLow(tenant)) this.#tellLeft(tenant, [Number(node)]);
    this.#tellSoon(tellMilliseconds);
  }

  #isLow(tenant: string): boolean {
    return this.#budget.left(tenant) < this.#budget.burst / 2;
  }

  #tellSoon(milliseconds: number): void {
    if (milliseconds === 0) queueMicrotask(() => this.#tellAll());
    else this.#timer ??= setTimeout(() => this.#tellAll(), milliseconds).unref();
  }

  #tellAll(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const { node } = this.#others;
    const untold = [...this.#untold];
    this.#untold.clear();
    for (const [tenant, tokens] of untold) {
      const owner = this.#ownerOf(tenant);
      if (owner === node) this.#changed.add(tenant);
      else this.#others.tell(`${this.#word} ${tenant} ${tokens} ${node}`, owner);
    }
    for (const [tenant, nodes] of this.#spentAt) {
      if (this.isFull(tenant)) this.#spentAt.delete(tenant);
      else if (this.#changed.has(tenant) && this.#isLow(tenant)) this.#tellLeft(tenant, nodes);
    }
    this.#changed.clear();
  }

  #tellLeft(tenant: string, nodes: Iterable<number>): void {
    const left = Math.floor(this.#budget.left(tenant));
    for (const node of nodes) this.#others.tell(`${this.#word}-left ${tenant} ${left}`, node);
  }

  /** The owner of a tenant's budget. Nodes that know the same nodes agree on it. When a node comes or goes, few owners change. */
  #ownerOf(tenant: string): number {
    let owner = this.#others.node;
    let highest = '';
    for (const node of this.#others.owners()) {
      const rank = sha256Hex(`${tenant} ${node}`);
      if (rank > highest) [owner, highest] = [node, rank];
    }
    return owner;
  }
}
