/** The protections that held the program, as observed: the receipt's posture in words for people. docs/VERIFYING.md. */
import { isJsonObject, type StoredReceipt } from '@vouchbox/evidence';
import { LIMIT_NAMES } from '@vouchbox/protocol/vocabulary';
import { LIMIT_WORDS, type PostureTone, type PostureWords, postureWords } from '@vouchbox/protocol/words';
import { element, type Mark, mark, section } from './element.ts';

const MARKS: Readonly<Record<PostureTone, Mark>> = { good: 'passed', bad: 'failed', quiet: 'not_tried' };

/** The observed protections. If `isRefused`, nobody knows whether the observations are true, so no mark may look good. */
export function postureView(receipt: StoredReceipt | null, isRefused: boolean): HTMLElement | null {
  if (receipt === null) return null;
  const shown = section(
    'posture',
    'What held the program',
    isRefused ? element('p', {}, 'These files say so, and they are not to be trusted.') : null,
    element('p', {}, leadOf(receipt)),
    ran(receipt) ? element('ul', { class: 'posture' }, ...postureWords(receipt).map(item)) : null,
    ran(receipt) ? limitsOf(receipt) : null,
  );
  shown.classList.toggle('unproven', isRefused);
  return shown;
}

function ran(receipt: StoredReceipt): boolean {
  return Object.hasOwn(receipt, 'isolation_class');
}

function leadOf(receipt: StoredReceipt): string {
  if (!ran(receipt))
    return 'The receipt says nothing about protections: the program met no executor, or the service stopped while it ran.';
  if (receipt['bootstrap_ready'] === false) return 'The program never started, so none of the following was in force.';
  return 'These protections were observed on the cell while the program ran, not merely requested or configured.';
}

function item({ title, sentence, tone }: PostureWords): HTMLElement {
  return element(
    'li',
    {},
    mark(MARKS[tone]),
    element('div', {}, element('strong', {}, title), element('span', {}, sentence)),
  );
}

/** The limits that were read back from the kernel, and whether each was in force. */
function limitsOf({ effective_limits, limit_enforcement }: StoredReceipt): HTMLElement | null {
  if (!isJsonObject(effective_limits) || !isJsonObject(limit_enforcement)) return null;
  const rows = LIMIT_NAMES.map((name) => {
    const value = effective_limits[name];
    const isInForce = limit_enforcement[name] === true;
    return element(
      'tr',
      {},
      element('th', { scope: 'row' }, LIMIT_WORDS[name]),
      element('td', {}, typeof value === 'number' ? `${value}` : 'not observed'),
      element('td', {}, mark(isInForce ? 'passed' : 'failed'), isInForce ? 'in force' : 'not in force'),
    );
  });
  const head = ['Limit', 'As read back'].map((name) => element('th', { scope: 'col' }, name));
  return element(
    'table',
    { class: 'limits' },
    element('thead', {}, element('tr', {}, ...head, element('td', {}))),
    element('tbody', {}, ...rows),
  );
}
