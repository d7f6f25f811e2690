/** The cells of one kind that wait or are being made, and what is known of making one. */
import type { CellKind, PreparedCell } from '../sandbox.ts';
import { Demand } from './demand.ts';

const FIRST_PAUSE_MILLISECONDS = 250;
const PAUSE_MILLISECONDS_MAX = 60_000;
/** How much of the newest time is believed. */
const NEWEST_PART = 0.3;

/** A cell that waits. */
export interface Parked {
  readonly cell: PreparedCell;
  /** What it was made of, as `CellOrigin` says. */
  readonly madeOf: string;
  readonly bytes: number;
  /** Aborted when somebody wants it. */
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
  /** Oldest first. */
  readonly parked: Parked[] = [];
  /** Those that no job has claimed. */
  readonly making = new Set<Making>();
  /** What the newest takes of memory; null if none was made yet. */
  bytes: number | null = null;
  #makingMilliseconds = 0;
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(kind: CellKind, isUsual: boolean) {
    this.kind = kind;
    this.demand = new Demand(isUsual);
  }

  get makingMilliseconds(): number {
    return this.#makingMilliseconds;
  }

  /** Cells that wait or will. */
  get count(): number {
    return this.parked.length + this.making.size;
  }

  /** Before this time none is made ahead: each failure doubles the pause. */
  get pausedUntil(): number {
    if (this.#failures === 0) return Number.NEGATIVE_INFINITY;
    return this.#failedAt + Math.min(PAUSE_MILLISECONDS_MAX, FIRST_PAUSE_MILLISECONDS * 2 ** (this.#failures - 1));
  }

  took(milliseconds: number): void {
    const before = this.#makingMilliseconds || milliseconds;
    this.#makingMilliseconds = before + NEWEST_PART * (milliseconds - before);
  }

  /** One could not be made, or died while it waited. Returns how often that was in a row. */
  failed(now: number): number {
    this.#failedAt = now;
    this.#failures += 1;
    return this.#failures;
  }

  /** One was good enough for a job. */
  succeeded(): void {
    this.#failures = 0;
  }
}
