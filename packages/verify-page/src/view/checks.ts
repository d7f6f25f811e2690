/** Shows each check as a line: whether it passed, what it means, and what was found. */
import { printable } from '@vouchbox/protocol/vocabulary';
import type { ExaminedCheck } from '@vouchbox/verifier';
import type { Findings } from '../check/findings.ts';
import { element, mark, section } from './element.ts';
import { ATTESTATION, type ChecksWords, LOG, RECORD } from './words.ts';

export function checksView(findings: Findings): HTMLElement {
  const { files, attestation, record, program, log } = findings;
  return section(
    'checks',
    'What was checked',
    group('The signature', attestation, ATTESTATION),
    group('The log', log.checks, LOG),
    group('The history', record, RECORD),
    group('The files, as the manifest lists them', files),
    group('The program and its files, as the receipt states them', program),
  );
}

function group(title: string, checks: readonly ExaminedCheck[], words?: ChecksWords): HTMLElement | null {
  if (checks.length === 0) return null;
  const bad = checks.filter(({ state }) => state === 'failed').length;
  const skipped = checks.filter(({ state }) => state === 'not_tried').length;
  const counts = [
    `${checks.length - bad - skipped} passed`,
    bad > 0 ? `${bad} failed` : '',
    skipped > 0 ? `${skipped} not tried` : '',
  ].filter((count) => count !== '');
  return element(
    'details',
    { class: 'checks', ...((bad > 0 || (title === 'The signature' && skipped < checks.length)) && { open: '' }) },
    element(
      'summary',
      {},
      mark(bad > 0 ? 'failed' : skipped === checks.length ? 'not_tried' : 'passed'),
      element('span', { class: 'group' }, title),
      element('span', { class: 'counts' }, counts.join(', ')),
    ),
    element('ul', {}, ...checks.map((check) => line(check, words?.[check.name]))),
  );
}

function line({ name, state, detail }: ExaminedCheck, { title = name, meaning = '' } = {}): HTMLElement {
  const found = state === 'not_tried' ? `Not tried: ${detail}` : detail;
  return element(
    'li',
    { class: `check ${state}`, 'data-check': printable(name) },
    mark(state),
    element(
      'div',
      {},
      element('span', { class: 'title' }, printable(title)),
      meaning === '' ? null : element('span', { class: 'meaning' }, meaning),
      element('span', { class: 'found' }, printable(found, 500)),
    ),
  );
}
