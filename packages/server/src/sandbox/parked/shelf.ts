/** The cells of one kind that are parked or being made, and how long making one takes. */
import type { CellKind, PreparedCell } from '../sandbox.ts';
import { Demand } from './demand.ts';

const FIRST_PAUSE_MILLISECONDS = 250;
const PAUSE_MILLISECONDS_MAX = 60_000;
/** How long one cell stays parked for an owner after the last request: as long as a template. */
const OWNERS_MILLISECONDS = 60_000;
/** The weight of the newest time in the average time that making a cell takes. */
const NEWEST_PART = 0.3;

/** A parked cell. */
export interface Parked {
  readonly cell: PreparedCell;
  /** The parts from which the cell was made: see `CellOrigin`. */
  readonly madeOf: string;
  readonly bytes: number;
  /** Aborted when a job wants the cell. */
  readonly wanted: AbortController;
}

/** A cell that is being made ahead of demand. */
export interface Making {
  readonly made: Promise<PreparedCell>;
  readonly madeOf: string;
  readonly wanted: AbortController;
}

export class Shelf {
  readonly kind: CellKind;
  readonly demand: Demand;
  /** The parked cells, oldest first. */
  readonly parked: Parked[] = [];
  /** The cells in the making that no job has claimed. */
  readonly making = new Set<Making>();
  /** The memory of the newest cell; null if no cell was made yet. */
  bytes: number | null = null;
  #makingMilliseconds = 0;
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(kind: CellKind, isUsual: boolean) {
    this.kind = kind;
    this.demand = new Demand(isUsual, kind.owner === undefined ? undefined : OWNERS_MILLISECONDS);
  }

  get makingMilliseconds(): number {
    return this.#makingMilliseconds;
  }

  /** Cells that are parked or being made. */
  get count(): number {
    return this.parked.length + this.making.size;
  }

  /** No cell is made ahead before this time. Each failure doubles the pause. */
  get pausedUntil(): number {
    if (this.#failures === 0) return Number.NEGATIVE_INFINITY;
    return this.#failedAt + Math.min(PAUSE_MILLISECONDS_MAX, FIRST_PAUSE_MILLISECONDS * 2 ** (this.#failures - 1));
  }

  took(milliseconds: number): void {
    const before = this.#makingMilliseconds || milliseconds;
    this.#makingMilliseconds = before + NEWEST_PART * (milliseconds - before);
  }

  /** Records that a cell could not be made or died while parked. Returns the number of failures in a row. */
  failed(now: number): number {
    this.#failedAt = now;
    this.#failures += 1;
    return this.#failures;
  }

  /** Records that a job got a working cell. */
  succeeded(): void {
    this.#failures = 0;
  }
}
