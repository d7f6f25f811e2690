/**
 * Keeps pages of tenants' job lists, so that a page is returned without a read as long as none of the tenant's jobs changes. Use
 * this only for a store that no other process changes. Every change goes through `change`, which first drops the tenant's pages.
 * A page that is read during a change is not kept.
 */
import type { ListPage } from '../records/answers.ts';
import type { ListInput } from '../records/inputs.ts';

/** How many characters all pages together may have. */
const charsKeptMax = 4 * 2 ** 20;

/** The pages of one tenant. */
interface Shelf {
  readonly pages: Map<string, ListPage>;
  chars: number;
}

export class KeptLists {
  readonly #charsMax: number;
  #shelves = new Map<string, Shelf>();
  #chars = 0;
  /** How many changes are under way: for each tenant, and for all tenants at once. */
  readonly #changing = new Map<string, number>();
  #changingAll = 0;

  constructor(charsMax = charsKeptMax) {
    this.#charsMax = charsMax;
  }

  /** The kept page, or else the page that `ask` reads. */
  async read(input: ListInput, ask: () => Promise<ListPage>): Promise<ListPage> {
    const { tenant } = input;
    if (this.#changingAll > 0 || this.#changing.has(tenant)) return await ask();
    const shelf = this.#shelfOf(tenant);
    const name = nameOf(input);
    const kept = shelf.pages.get(name);
    if (kept !== undefined) return kept;
    const page = await ask();
    this.#keep(tenant, shelf, { name, page });
    return page;
  }

  /** Makes a change to jobs of a tenant, or of any tenant if `tenant` is null. */
  async change<Answer>(tenant: string | null, make: () => Promise<Answer>): Promise<Answer> {
    this.#begin(tenant);
    try {
      return await make();
    } finally {
      this.#end(tenant);
    }
  }

  #begin(tenant: string | null): void {
    if (tenant === null) {
      this.#changingAll += 1;
      this.#forgetAll();
      return;
    }
    this.#changing.set(tenant, (this.#changing.get(tenant) ?? 0) + 1);
    this.#chars -= this.#shelves.get(tenant)?.chars ?? 0;
    this.#shelves.delete(tenant);
  }

  #end(tenant: string | null): void {
    if (tenant === null) {
      this.#changingAll -= 1;
      return;
    }
    const left = (this.#changing.get(tenant) ?? 1) - 1;
    if (left === 0) this.#changing.delete(tenant);
    else this.#changing.set(tenant, left);
  }

  #shelfOf(tenant: string): Shelf {
    const shelf = this.#shelves.get(tenant) ?? { pages: new Map<string, ListPage>(), chars: 0 };
    this.#shelves.set(tenant, shelf);
    return shelf;
  }

  /** Keeps a page. If its shelf was dropped since the request, the page may be older than a change, and is not kept. */
  #keep(tenant: string, shelf: Shelf, { name, page }: { name: string; page: ListPage }): void {
    const chars = name.length + page.items.length;
    if (this.#shelves.get(tenant) !== shelf || shelf.pages.has(name) || chars > this.#charsMax) return;
    shelf.pages.set(name, page);
    shelf.chars += chars;
    this.#chars += chars;
    if (this.#chars > this.#charsMax) this.#forgetAll();
  }

  #forgetAll(): void {
    this.#shelves = new Map();
    this.#chars = 0;
  }
}

/** The name of a kept page. The label comes last, because a label may have spaces. */
function nameOf({ limit, before, statuses, language, label }: ListInput): string {
  return `${limit} ${before === null ? '' : `${before.created_at} ${before.job_id}`} ${statuses?.join() ?? ''} ${language ?? ''} ${label ?? ''}`;
}
