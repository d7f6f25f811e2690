/** Draws the history as a chain, in which each ring hangs on the one before. A broken ring is shown apart. */
import type { JobEvent } from '@vouchbox/protocol';
import { printable } from '@vouchbox/protocol/vocabulary';
import type { Examination } from '@vouchbox/verifier';
import { drawing, element, section } from './element.ts';

/** A ring: one event, or a run of events of one kind. */
interface Ring {
  readonly kind: string;
  readonly first: number;
  readonly count: number;
  readonly state: 'follows' | 'broken' | 'unknown';
}

/** More rings than this are not drawn: the ends and what is around a break are. */
const ringsMax = 48;
const ringsAtTheEnds = 12;

/** Rows of the table of events. */
const rowsMax = 200;

export function chainView({ events, brokenAt, record }: Examination): HTMLElement | null {
  const failed = record.find(({ name, state }) => ['chain', 'events'].includes(name) && state === 'failed');
  if (events.length === 0 && failed === undefined) return null;
  const rings = ringsOf(events, brokenAt);
  return section(
    'chain',
    'The chain of events',
    element(
      'p',
      {},
      failed === undefined ? wholeText(events.length) : `The chain is broken: ${printable(failed.detail)}.`,
    ),
    element('ol', { class: 'rings', 'aria-label': 'Events in their order' }, ...shown(rings).map(ringItem)),
    events.length === 0 ? null : table(events, brokenAt),
  );
}

function wholeText(count: number): string {
  return `${count} ${count === 1 ? 'event' : 'events'}. Each holds the digest of the one before it, so none can be changed, added or taken away.`;
}

/** Events of one kind in a row are one ring, and the broken one is alone. */
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

type Shown = Ring | { readonly left: number };

function shown(rings: readonly Ring[]): Shown[] {
  if (rings.length <= ringsMax) return [...rings];
  const broken = rings.findIndex(({ state }) => state === 'broken');
  const isShown = (index: number) =>
    index < ringsAtTheEnds || index >= rings.length - ringsAtTheEnds || Math.abs(index - broken) <= 4;
  const list: Shown[] = [];
  for (const [index, ring] of rings.entries()) {
    const last = list.at(-1);
    if (isShown(index)) list.push(ring);
    else if (last !== undefined && 'left' in last) list[list.length - 1] = { left: last.left + ring.count };
    else list.push({ left: ring.count });
  }
  return list;
}

const STATE_WORDS = { follows: 'follows', broken: 'is broken', unknown: 'cannot be judged after the break' };

function ringItem(ring: Shown): HTMLElement {
  if ('left' in ring) return element('li', { class: 'left' }, `${ring.left} more`);
  const { kind, first, count, state } = ring;
  const number = count === 1 ? `${first}` : `${first}–${first + count - 1}`;
  const name = printable(kind, 24);
  return element(
    'li',
    { class: `ring ${state}`, 'data-kind': KNOWN_KINDS.includes(kind) ? kind : 'other' },
    picture(state),
    element('span', { class: 'kind' }, count === 1 ? name : `${name} ×${count}`),
    element('span', { class: 'number' }, number),
    element('span', { class: 'unseen' }, STATE_WORDS[state]),
  );
}

const KNOWN_KINDS = ['queued', 'started', 'stdout', 'stderr', 'artifact', 'violation', 'truncated', 'finished'];

/** An oval that reaches into its neighbours; a broken one is open on both sides. */
function picture(state: Ring['state']): SVGElement {
  const d =
    state === 'broken'
      ? 'M26 7H17a9 9 0 0 0-7 14M34 25h9a9 9 0 0 0 7-14M27 3l-2 8M35 21l-2 8'
      : 'M15 7h30a9 9 0 0 1 0 18h-30a9 9 0 0 1 0-18z';
  return drawing('svg', { viewBox: '0 0 60 32', 'aria-hidden': 'true' }, drawing('path', { d }));
}

function table(events: readonly JobEvent[], brokenAt: number | null): HTMLElement {
  const from = brokenAt !== null && brokenAt >= rowsMax ? Math.max(0, brokenAt - rowsMax / 2) : 0;
  const rows = events.slice(from, from + rowsMax).map((event, index) => row(event, from + index === brokenAt));
  const rest = events.length > rowsMax ? ` (${from + 1} to ${from + rows.length} of ${events.length})` : '';
  const head = ['#', 'kind', 'time', 'what', 'digest'].map((name) => element('th', { scope: 'col' }, name));
  return element(
    'details',
    {},
    element('summary', {}, `The events${rest}`),
    element(
      'div',
      { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Table of events' },
      element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows)),
    ),
  );
}

function row({ seq, kind, timestamp, data, event_hash }: JobEvent, isBroken: boolean): HTMLElement {
  const cells = [
    String(seq),
    kind,
    timestamp,
    JSON.stringify(data).slice(0, 200),
    `${(event_hash ?? 'none').slice(0, 12)}…`,
  ];
  return element(
    'tr',
    isBroken ? { class: 'broken' } : {},
    ...cells.map((cell) => element('td', {}, printable(cell, 160))),
  );
}
