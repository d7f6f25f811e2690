/** The part of a history that is shown: its chain, ring by ring. Of a long chain, only the ends and the break are shown. */
import type { JobEvent } from '@vouchbox/protocol';
import { printable } from '@vouchbox/protocol/vocabulary';
import type { Examination } from '@vouchbox/verifier';

/** A ring: one event, or several events of the same kind in a row. */
export interface Ring {
  readonly kind: string;
  readonly first: number;
  readonly count: number;
  readonly state: 'follows' | 'broken' | 'unknown';
}

/** A ring, or the number of events left out between two rings. */
export type ShownRing = Ring | { readonly left: number };

/** One event as text. Each cell is cut to a fixed width. */
export interface EventRow {
  readonly cells: readonly string[];
  readonly isBroken: boolean;
}

export interface ChainFindings {
  /** The number of all readable events. */
  readonly count: number;
  /** Why the chain is broken or cannot be read; null if it is whole. */
  readonly problem: string | null;
  readonly rings: readonly ShownRing[];
  readonly rows: readonly EventRow[];
  /** The index of the event in the first row. */
  readonly firstRow: number;
}

/** The most rings of a chain that is drawn whole. Of a longer chain, only the ends and the rings around a break are drawn. */
const ringsMax = 48;
const ringsAtTheEnds = 12;

/** The most rows of the table of events. */
const rowsMax = 200;

export function chainFindings({ events, brokenAt, record }: Examination): ChainFindings {
  const failed = record.find(({ name, state }) => ['chain', 'events'].includes(name) && state === 'failed');
  const firstRow = brokenAt !== null && brokenAt >= rowsMax ? Math.max(0, brokenAt - rowsMax / 2) : 0;
  return {
    count: events.length,
    problem: failed?.detail ?? null,
    rings: shown(ringsOf(events, brokenAt)),
    rows: events.slice(firstRow, firstRow + rowsMax).map((event, index) => row(event, firstRow + index === brokenAt)),
    firstRow,
  };
}

/** A history's rings. Events of the same kind in a row make one ring, but a broken event is a separate ring. */
function ringsOf(events: readonly JobEvent[], brokenAt: number | null): Ring[] {
  const rings: Ring[] = [];
  for (const [index, { kind }] of events.entries()) {
    const state = brokenAt === null || index < brokenAt ? 'follows' : index === brokenAt ? 'broken' : 'unknown';
    const last = rings.at(-1);
    if (last?.kind === kind && last.state === state) rings[rings.length - 1] = { ...last, count: last.count + 1 };
    else rings.push({ kind, first: index + 1, count: 1, state });
  }
  const isCut = brokenAt !== null && brokenAt >= events.length;
  return isCut ? [...rings, { kind: 'missing', first: events.length + 1, count: 1, state: 'broken' }] : rings;
}

function shown(rings: readonly Ring[]): ShownRing[] {
  if (rings.length <= ringsMax) return [...rings];
  const broken = rings.findIndex(({ state }) => state === 'broken');
  const isShown = (index: number) =>
    index < ringsAtTheEnds || index >= rings.length - ringsAtTheEnds || Math.abs(index - broken) <= 4;
  const list: ShownRing[] = [];
  for (const [index, ring] of rings.entries()) {
    const last = list.at(-1);
    if (isShown(index)) list.push(ring);
    else if (last !== undefined && 'left' in last) list[list.length - 1] = { left: last.left + ring.count };
    else list.push({ left: ring.count });
  }
  return list;
}

function row({ seq, kind, timestamp, data, event_hash }: JobEvent, isBroken: boolean): EventRow {
  const digest = `${(event_hash ?? 'none').slice(0, 12)}…`;
  const cells = [String(seq), kind, timestamp, JSON.stringify(data).slice(0, 200), digest];
  return { cells: cells.map((cell) => printable(cell, 160)), isBroken };
}
