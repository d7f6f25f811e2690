/** Draws the history as a chain in which each ring hangs on the previous one. A broken ring is drawn apart. */
import { printable } from '@vouchbox/protocol/vocabulary';
import { amountOf, countOf } from '@vouchbox/protocol/words';
import type { ChainFindings, EventRow, Ring, ShownRing } from '../check/chain-findings.ts';
import { drawing, element, section } from './element.ts';

export function chainView({ count, problem, rings, rows, firstRow }: ChainFindings): HTMLElement | null {
  if (count === 0 && problem === null) return null;
  return section(
    'chain',
    'The chain of events',
    element('p', {}, problem === null ? wholeText(count) : `The chain is broken: ${printable(problem)}.`),
    element('ol', { class: 'rings', 'aria-label': 'Events in their order' }, ...rings.map(ringItem)),
    count === 0 ? null : table(rows, { count, firstRow }),
  );
}

function wholeText(count: number): string {
  return `${amountOf(count, 'event')}. Each holds the digest of the one before it, and the receipt names the last one.`;
}

const STATE_WORDS = { follows: 'follows', broken: 'is broken', unknown: 'cannot be judged after the break' };

function ringItem(ring: ShownRing): HTMLElement {
  if ('left' in ring) return element('li', { class: 'left' }, `${countOf(ring.left)} more`);
  const { kind, first, count, state } = ring;
  const number = count === 1 ? `${first}` : `${first}–${first + count - 1}`;
  const name = printable(kind, 24);
  return element(
    'li',
    { class: `ring ${state}` },
    picture(state),
    element('span', { class: 'kind' }, count === 1 ? name : `${name} ×${count}`),
    element('span', { class: 'number' }, number),
    element('span', { class: 'unseen' }, STATE_WORDS[state]),
  );
}

/** A ring: an oval that reaches into its neighbours. A broken ring is open on both sides. */
function picture(state: Ring['state']): SVGElement {
  const d =
    state === 'broken'
      ? 'M26 7H17a9 9 0 0 0-7 14M34 25h9a9 9 0 0 0 7-14M27 3l-2 8M35 21l-2 8'
      : 'M15 7h30a9 9 0 0 1 0 18h-30a9 9 0 0 1 0-18z';
  return drawing('svg', { viewBox: '0 0 60 32', 'aria-hidden': 'true' }, drawing('path', { d }));
}

function table(rows: readonly EventRow[], { count, firstRow }: Pick<ChainFindings, 'count' | 'firstRow'>): HTMLElement {
  const rest = count > rows.length ? ` (${firstRow + 1} to ${firstRow + rows.length} of ${countOf(count)})` : '';
  const head = ['#', 'kind', 'time', 'what', 'digest'].map((name) => element('th', { scope: 'col' }, name));
  return element(
    'details',
    {},
    element('summary', {}, `The events${rest}`),
    element(
      'div',
      { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Table of events' },
      element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows.map(row))),
    ),
  );
}

function row({ cells, isBroken }: EventRow): HTMLElement {
  return element('tr', isBroken ? { class: 'broken' } : {}, ...cells.map((cell) => element('td', {}, cell)));
}
