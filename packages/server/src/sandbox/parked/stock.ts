/** All parked cells: a shelf for each kind, how many cells it should hold, and the end of cells that no job gets. */
import type { Language } from '@vouchbox/protocol';
import type { CellKind, CellOrigin, PreparedCell, Provider } from '../sandbox.ts';
import { planParking } from './parking-plan.ts';
import { type Parked, Shelf } from './shelf.ts';

/** The languages for which one cell is parked from the start, in the usual pack. */
const USUAL_LANGUAGES: readonly Language[] = ['python', 'node', 'bash'];
/** A kind with a parked cell gives way only to a kind that was requested this many times as often. */
const STAYING_FACTOR = 2;

export interface StockOptions {
  readonly provider: Pick<Provider, 'languages' | 'originOf'>;
  /** Memory that all waiting cells may take together, in bytes. */
  readonly bytesMax: number;
  /** Called if a cell cannot be ended. */
  readonly onEndFailed: (language: Language, error: Error) => void;
}

/** The shelf for a kind, and the parts from which a cell of this kind would be made now. */
export interface Found {
  readonly shelf: Shelf;
  readonly origin: CellOrigin;
}

/** Numbers of parked cells that were given up, by reason: dead, made from a former runtime or pack, or more than wanted. */
export interface LostCells {
  readonly died: number;
  readonly changed: number;
  readonly surplus: number;
}

export class Stock {
  readonly #options: StockOptions;
  readonly #shelves = new Map<string, Shelf>();
  readonly #ending = new Set<Promise<void>>();
  readonly #lost = { died: 0, changed: 0, surplus: 0 };

  constructor(options: StockOptions) {
    this.#options = options;
  }

  get shelves(): Iterable<Shelf> {
    return this.#shelves.values();
  }

  get lost(): LostCells {
    return this.#lost;
  }

  /** Memory of all parked cells, in bytes. */
  get bytes(): number {
    let sum = 0;
    for (const { parked } of this.#shelves.values()) for (const { bytes } of parked) sum += bytes;
    return sum;
  }

  /** How many cells of each language are parked. */
  countByLanguage(): ReadonlyMap<Language, number> {
    const counts = new Map<Language, number>();
    for (const { kind, parked } of this.#shelves.values()) {
      counts.set(kind.language, (counts.get(kind.language) ?? 0) + parked.length);
    }
    return counts;
  }

  /** Makes shelves for cells that are parked without a request. */
  addUsual(): void {
    const { languages } = this.#options.provider;
    for (const language of USUAL_LANGUAGES) if (languages.includes(language)) this.find({ language, runtime: null });
  }

  /** The shelf of a kind; null if no cell of this kind can be made. */
  find(kind: CellKind): Found | null {
    const { provider } = this.#options;
    const origin = provider.originOf(kind);
    if (origin === null) return null;
    const known = this.#shelves.get(origin.kind);
    if (known !== undefined) return { shelf: known, origin };
    const { language, runtime, stage, reproducible, owner } = kind;
    const shared = { language, runtime, stage, reproducible };
    const isUsual =
      USUAL_LANGUAGES.includes(language) && provider.originOf({ language, runtime: null })?.kind === origin.kind;
    // A cell that any owner may get is made without an owner.
    const isShared = owner === undefined || provider.originOf(shared)?.kind === origin.kind;
    const shelf = new Shelf({ ...shared, ...(isShared ? {} : { owner }) }, isUsual);
    this.#shelves.set(origin.kind, shelf);
    return { shelf, origin };
  }

  /** How many cells of each kind should be parked. */
  plan(now: number): readonly (readonly [Shelf, number])[] {
    this.#leaveTemplates();
    const shelves = [...this.#shelves.values()];
    const wanted = shelves.map(({ demand, bytes, count }) => ({
      wanted: demand.wanted(now),
      bytes,
      rank: (count > 0 ? STAYING_FACTOR : 1) * demand.weight(now),
    }));
    const counts = planParking(wanted, this.#options.bytesMax);
    return shelves.map((shelf, at) => [shelf, counts[at] ?? 0] as const);
  }

  /** Gives up the cells of an owner whose template is no longer kept. */
  #leaveTemplates(): void {
    for (const [key, { kind, parked, making }] of this.#shelves) {
      if (kind.owner === undefined || this.#options.provider.originOf(kind)?.kind === key) continue;
      for (const cell of parked.splice(0)) this.discard(cell, 'surplus');
      if (making.size === 0) this.#shelves.delete(key);
    }
  }

  /** Ends a parked cell. */
  discard({ cell }: Parked, why: keyof LostCells): void {
    this.#lost[why] += 1;
    this.end(cell);
  }

  /** Ends a cell. `settled` waits for this end, too. */
  end(cell: PreparedCell): void {
    const ended = this.#endOf(cell).finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  async #endOf(cell: PreparedCell): Promise<void> {
    try {
      await cell[Symbol.asyncDispose]();
    } catch (error) {
      this.#options.onEndFailed(cell.language, error as Error);
    }
  }

  /** Resolves once every cell that was given up until now is gone. */
  async settled(): Promise<void> {
    await Promise.all(this.#ending);
  }
}
