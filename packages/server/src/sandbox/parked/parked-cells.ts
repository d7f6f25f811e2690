/**
 * Parks cells at the workload-ready boundary ahead of demand, so that a job need not wait for its cell. Each cell serves one job.
 * Before a job gets a cell, the cell is checked: it must be alive and made from the present installation. The number of parked
 * cells follows recent demand, within a memory bound. Parked cells are made with a small share of the processors. While a job
 * waits for a cell, other cells are begun only on cores that would be idle.
 */
import type { Language } from '@vouchbox/protocol';
import { within } from '../../ground/waiting/within.ts';
import type { BootstrapError, CellKind, CellRequest, PreparedCell, Provider } from '../sandbox.ts';
import { HandedOutCell } from './handed-out-cell.ts';
import { Pace, type PaceOptions } from './pace.ts';
import type { Making, Parked, Shelf } from './shelf.ts';
import { type Found, type LostCells, Stock } from './stock.ts';

/** The memory of a parked cell that its group does not count: descriptors, buffers and mounts of the service and the kernel. */
const OWN_BYTES = 1024 * 1024;
/** How long a cell made ahead may take to be ready: long, because its share of the processors is small. */
const AHEAD_MILLISECONDS_MAX = 60_000;
/** How long a job waits for a cell that is already being made. Then a new cell is made for the job, which may take as long. */
const CLAIMED_MILLISECONDS_MAX = 10_000;

/** The reason given for an abort when a job wants the cell. Without a reason, an abort would make an error with a stack. */
const WANTED = 'a job wants the cell';

/** Makes the cell that a job gets if its cell fails at the hand-over. */
type Another = (error: BootstrapError) => Promise<PreparedCell>;

/** A problem with parking that the operator should know. Jobs still get their cells. */
export interface ParkingProblem extends CellKind {
  readonly problem: 'not_made' | 'died' | 'too_large' | 'not_handed_over' | 'not_ended';
  readonly error: Error | null;
}

export interface ParkedCellsOptions {
  /** Makes the cells for jobs and the parked ones, and knows whether any cell can be made. */
  readonly source: Pick<Provider, 'prepare'> & { isReady(): boolean };
  readonly provider: Pick<Provider, 'languages' | 'originOf'>;
  /** Memory that all parked cells may take together, in bytes; 0 parks none. */
  readonly bytesMax: number;
  /** When cells may be made ahead. */
  readonly pace: PaceOptions;
  readonly onProblem: (problem: ParkingProblem) => void;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** The parked cells, and counts of what happened to earlier ones. */
export interface ParkingFacts {
  readonly bytesMax: number;
  readonly bytes: number;
  /** How many cells of each language are parked. A language that never had one may be missing. */
  readonly cells: ReadonlyMap<Language, number>;
  /** How many jobs got a cell that was parked, that was already being made, or that was made for the job. */
  readonly taken: { readonly parked: number; readonly awaited: number; readonly cold: number };
  readonly lost: LostCells;
}

/** The parked cells. Nothing is parked before `start`. Disposing ends them and parks no more; cells are still made for jobs. */
export class ParkedCells implements Pick<Provider, 'prepare'>, AsyncDisposable {
  readonly #options: ParkedCellsOptions;
  readonly #now: () => number;
  readonly #stock: Stock;
  readonly #pace: Pace;
  readonly #making = new Set<Promise<void>>();
  readonly #taken = { parked: 0, awaited: 0, cold: 0 };
  /** How many jobs wait for a cell, and for how many of them a new cell is made. */
  #waiting = 0;
  #cold = 0;
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;

  constructor(options: ParkedCellsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    const { provider, bytesMax, onProblem, pace } = options;
    this.#pace = new Pace(pace);
    this.#stock = new Stock({
      provider,
      bytesMax,
      onEndFailed: (language, error) => onProblem({ language, runtime: null, problem: 'not_ended', error }),
    });
  }

  /** Begins to park. This call does nothing if no cell may be parked. */
  start(): void {
    if (this.#options.bytesMax === 0) return;
    this.#isRunning = true;
    this.#stock.addUsual();
    this.refill();
  }

  /**
   * A parked cell, or null if none is parked. A caller that gets null, or whose cell fails at the hand-over, calls `prepare`,
   * which records the demand. This method records the demand only if it returns a cell.
   */
  take(kind: CellKind): PreparedCell | null {
    const found = this.#isRunning ? this.#stock.find(kind) : null;
    return found === null ? null : this.#takeParked(found, (error) => Promise.reject(error));
  }

  /** A parked cell, or one that is already being made, else a new one: see `Provider`. */
  async prepare(request: CellRequest): Promise<PreparedCell> {
    const found = this.#isRunning ? this.#stock.find(request) : null;
    if (found === null) return await this.#options.source.prepare(request);
    const another = () => this.#options.source.prepare(request);
    return this.#takeParked(found, another) ?? (await this.#waitedFor(this.#make(found, request)));
  }

  facts(): ParkingFacts {
    const { bytes, lost } = this.#stock;
    const cells = this.#stock.countByLanguage();
    return { bytesMax: this.#options.bytesMax, bytes, cells, taken: this.#taken, lost };
  }

  /** Makes and ends cells until the planned number is parked. This method is called whenever the plan may have changed. */
  refill(): void {
    if (!this.#isRunning) return;
    const now = this.#now();
    const plan = this.#stock.plan(now);
    for (const [shelf, count] of plan) {
      while (shelf.parked.length > count) this.#stock.discard(shelf.parked.shift() as Parked, 'surplus');
    }
    for (const [shelf, count] of plan) {
      while (shelf.count < count && shelf.pausedUntil <= now && this.#mayMake(shelf, now)) this.#makeAhead(shelf);
    }
    this.#lookAgain();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isRunning = false;
    clearTimeout(this.#timer);
    for (const { parked, making } of this.#stock.shelves) {
      for (const { cell } of parked.splice(0)) this.#stock.end(cell);
      for (const { wanted } of making) wanted.abort(WANTED);
    }
    await Promise.all(this.#making);
    await this.#stock.settled();
  }

  /**
   * Takes a parked cell. An owner with a template gets only cells of its own: a copy costs less than a cell that any owner may
   * get (decision 0049).
   */
  #takeParked({ shelf, origin }: Found, another: Another): PreparedCell | null {
    for (let oldest = shelf.parked.shift(); oldest !== undefined; oldest = shelf.parked.shift()) {
      if (oldest.madeOf !== origin.madeOf()) this.#stock.discard(oldest, 'changed');
      else if (!oldest.cell.isWhole()) this.#stock.discard(oldest, 'died');
      else {
        oldest.wanted.abort(WANTED);
        this.#noteAsked(shelf);
        this.#taken.parked += 1;
        return this.#handedOut(oldest.cell, shelf, another);
      }
    }
    return null;
  }

  #noteAsked({ demand, makingMilliseconds }: Shelf): void {
    this.#pace.noteAsked(this.#now());
    demand.note(this.#now(), makingMilliseconds);
  }

  /** Waits for a job's cell. */
  async #waitedFor(cell: Promise<PreparedCell>): Promise<PreparedCell> {
    this.#waiting += 1;
    this.#refillSoon();
    try {
      return await cell;
    } finally {
      this.#waiting -= 1;
      this.#refillSoon();
    }
  }

  async #make(found: Found, request: CellRequest): Promise<PreparedCell> {
    const { shelf } = found;
    this.#noteAsked(shelf);
    const cell = await this.#claimed(found);
    if (cell === null) return await this.#makeCold(shelf, request);
    this.#taken.awaited += 1;
    return this.#handedOut(cell, shelf, () => this.#options.source.prepare(request));
  }

  /** A cell that is already being made: it is ready sooner than a new one. Null if there is none, or if making it failed. */
  async #claimed({ shelf, origin }: Found): Promise<PreparedCell | null> {
    const claimed = [...shelf.making].find(({ madeOf }) => madeOf === origin.madeOf());
    if (claimed === undefined) return null;
    shelf.making.delete(claimed);
    claimed.wanted.abort(WANTED);
    const cell = claimed.made.catch(() => null);
    const inTime = await within(cell, CLAIMED_MILLISECONDS_MAX, null);
    if (inTime === null) void cell.then((late) => late !== null && this.#stock.end(late));
    return inTime;
  }

  async #makeCold(shelf: Shelf, request: CellRequest): Promise<PreparedCell> {
    this.#taken.cold += 1;
    this.#cold += 1;
    const began = this.#now();
    try {
      const cell = await this.#options.source.prepare(request);
      shelf.took(this.#now() - began);
      return new HandedOutCell(cell, { replace: null, settled: () => this.#refillSoon() });
    } finally {
      this.#cold -= 1;
    }
  }

  #handedOut(cell: PreparedCell, shelf: Shelf, another: Another): PreparedCell {
    const { onProblem } = this.#options;
    return new HandedOutCell(cell, {
      replace(error) {
        onProblem({ ...shelf.kind, problem: 'not_handed_over', error });
        return another(error);
      },
      settled: () => {
        shelf.succeeded();
        this.#refillSoon();
      },
    });
  }

  /** Refills, but only after the end of the program was reported to its caller. */
  #refillSoon(): void {
    if (this.#isRunning) setImmediate(() => this.refill());
  }

  #mayMake({ count }: Shelf, now: number): boolean {
    const making = this.#making.size + this.#cold;
    const isAllowed = this.#pace.allows(now, { ofKind: count, making, isAwaited: this.#waiting > 0 });
    return isAllowed && this.#options.source.isReady();
  }

  #makeAhead(shelf: Shelf): void {
    const { provider, source } = this.#options;
    const madeOf = provider.originOf(shelf.kind)?.madeOf() ?? '';
    const wanted = new AbortController();
    const making = {
      made: source.prepare({
        ...shelf.kind,
        aheadUntil: wanted.signal,
        readyMilliseconds: AHEAD_MILLISECONDS_MAX,
      }),
      madeOf,
      wanted,
    };
    shelf.making.add(making);
    const parked = this.#park(shelf, making).finally(() => {
      this.#making.delete(parked);
      this.refill();
    });
    this.#making.add(parked);
  }

  /** Parks a new cell, unless a job has claimed it meanwhile. */
  async #park(shelf: Shelf, making: Making): Promise<void> {
    const began = this.#now();
    try {
      const cell = await making.made;
      shelf.took(this.#now() - began);
      if (shelf.making.delete(making)) this.#keep(shelf, cell, making);
    } catch (error) {
      if (shelf.making.delete(making)) this.#failed(shelf, 'not_made', error as Error);
    }
  }

  #keep(shelf: Shelf, cell: PreparedCell, { madeOf, wanted }: Making): void {
    const bytes = bytesOf(cell);
    const { bytesMax, onProblem } = this.#options;
    if (shelf.bytes === null && bytes > bytesMax) onProblem({ ...shelf.kind, problem: 'too_large', error: null });
    shelf.bytes = Math.max(bytes, ...shelf.parked.map((other) => other.bytes));
    const parked: Parked = { cell, madeOf, bytes, wanted };
    if (!this.#isRunning || this.#stock.bytes + bytes > bytesMax) {
      this.#stock.discard(parked, 'surplus');
      return;
    }
    shelf.parked.push(parked);
    void cell.ended.then(() => this.#ended(shelf, parked));
  }

  /** Handles the end of a parked cell. The end of a cell that was handed out is the job's to handle. */
  #ended(shelf: Shelf, parked: Parked): void {
    const at = shelf.parked.indexOf(parked);
    if (at < 0) return;
    shelf.parked.splice(at, 1);
    this.#stock.discard(parked, 'died');
    this.#failed(shelf, 'died', null);
    this.refill();
  }

  /** Reports the first of several failures in a row. Each failure makes the next pause longer, and jobs still get their cells. */
  #failed(shelf: Shelf, problem: ParkingProblem['problem'], error: Error | null): void {
    if (shelf.failed(this.#now()) === 1) this.#options.onProblem({ ...shelf.kind, problem, error });
  }

  /** Refills again when a pause is over, or when demand falls with time. */
  #lookAgain(): void {
    clearTimeout(this.#timer);
    const now = this.#now();
    const times = [...this.#stock.shelves].flatMap(({ pausedUntil, demand }) => [pausedUntil, demand.changesAt()]);
    const next = Math.min(...[...times, this.#pace.quietAt].filter((time) => time > now));
    if (!Number.isFinite(next)) return;
    this.#timer = setTimeout(() => this.refill(), next - now + 1);
    this.#timer.unref();
  }
}

/** The memory that a parked cell takes. For a cell that has just ended, only the memory outside its group counts. */
function bytesOf(cell: PreparedCell): number {
  try {
    return cell.memoryBytes() + OWN_BYTES;
  } catch {
    return OWN_BYTES;
  }
}
