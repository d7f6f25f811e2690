/** The verdict, which comes before everything else: what is proved, what is wrong, and who signed. */

import { printable } from '@vouchbox/protocol/vocabulary';
import { endWords, momentOf } from '@vouchbox/protocol/words';
import type { ExaminedCheck } from '@vouchbox/verifier';
import type { Findings, PageVerdict } from '../check/findings.ts';
import type { PinnedKeys } from '../intake/pinned-keys.ts';
import { element } from './element.ts';

interface VerdictWords {
  readonly title: string;
  readonly text: string;
}

/** `no-key`: the given text is not a key; this says nothing about the result. `unsigned`: there is no attestation. */
export type ShownVerdict = PageVerdict | 'no-key' | 'unsigned';

const WORDS: Readonly<Record<ShownVerdict, VerdictWords>> = {
  good: {
    title: 'Signed, and unchanged',
    text: 'A holder of the key that you pinned signed this result. Nothing was changed since.',
  },
  whole: {
    title: 'CONSISTENT, signer not checked',
    text: 'Nothing here contradicts anything else, but nothing is proved about who signed it: whoever made these files could have made all of them. Pin a key that came to you another way.',
  },
  unchecked: {
    title: 'CONSISTENT, signature not checked',
    text: 'This browser cannot check Ed25519 signatures here. Open the page with https, from localhost or as a file on your disk, in a browser of 2025 or later; or use service-verify.',
  },
  incomplete: {
    title: 'Unchanged, but a job that it depends on is missing here',
    text: 'Nothing here contradicts anything else. A job whose output was used is missing, or its receipt says nothing of its files.',
  },
  'no-key': {
    title: 'This is not a key',
    text: 'Nothing is known about who signed this result. Nothing else in it contradicts anything.',
  },
  unsigned: {
    title: 'Not signed',
    text: 'There is no attestation here, so nobody answers for this result by a signature.',
  },
  refused: {
    title: 'Do not trust this result',
    text: 'The files differ from what was signed, or the key that you pinned did not sign them.',
  },
};

/** The verdict to show. If the text is not a key, nobody knows who signed. A contradictory result is always refused. */
export function shownVerdict(
  { verdict }: Findings,
  { problem, isMismatch }: PinnedKeys,
  hasEnvelope: boolean,
): ShownVerdict {
  if (!hasEnvelope && verdict === 'whole') return 'unsigned';
  if (problem === null || verdict === 'refused') return verdict;
  return isMismatch ? 'refused' : 'no-key';
}

/** The banner. It takes the focus, so that a screen reader begins there. */
export function verdictView(findings: Findings, verdict: ShownVerdict, keyProblem: string | null): HTMLElement {
  const { title, text } = WORDS[verdict];
  return element(
    'section',
    { id: 'verdict', class: verdict, 'aria-labelledby': 'verdict-title' },
    element('h2', { id: 'verdict-title', tabindex: '-1' }, title),
    keyProblem === null ? null : element('p', {}, keyProblem),
    keyProblem !== null && verdict === 'refused' ? null : element('p', {}, text),
    culprits(findings),
    summary(findings),
  );
}

/** How many faults are named here. The list of checks has the rest. */
const culpritsMax = 6;

function culprits(findings: Findings): HTMLElement | null {
  const all = failures(findings);
  if (all.length === 0) return null;
  const more = all.length - culpritsMax;
  return element(
    'ul',
    { class: 'culprits', 'aria-label': 'What is wrong' },
    ...all
      .slice(0, culpritsMax)
      .map(([file, check]) =>
        element('li', {}, element('strong', {}, printable(file)), `: ${printable(check.detail, 400)}`),
      ),
    more > 0 ? element('li', {}, `and ${more} more, below`) : null,
  );
}

/** The failures, each with the file that it is about. */
function failures({
  files,
  attestation,
  record,
  program,
  log,
  graph,
}: Findings): [file: string, check: ExaminedCheck][] {
  const own = (check: ExaminedCheck): [string, ExaminedCheck] => [check.name, check];
  const of =
    (file: string) =>
    (check: ExaminedCheck): [string, ExaminedCheck] => [FILES[check.name] ?? file, check];
  const all = [
    ...files.map(own),
    ...attestation.map(of('attestation.dsse.json')),
    ...record.map(of('events.ndjson')),
    ...program.map(own),
    ...log.checks.map(of('log.tlog-proof')),
  ];
  const ofGraph = (graph?.bad ?? []).map(({ name, detail }): [string, ExaminedCheck] => [
    name,
    { name, state: 'failed', detail },
  ]);
  return [...all.filter(([, { state }]) => state === 'failed'), ...ofGraph];
}

/** The file that a check is about, if that differs from the file of the check's group. */
const FILES: Readonly<Record<string, string>> = {
  key: 'your key',
  subject_digest: 'result.json',
  result: 'result.json',
  result_content: 'result.json',
  receipt: 'receipt.json',
  receipt_file: 'receipt.json',
  manifest: 'manifest.json',
  public_key_file: 'public-key.pem',
};

const ADDED: Readonly<Record<string, string>> = {
  salt: 'Salt',
  tenant_job_number: 'Job number of its tenant',
  labels: 'Labels',
};

/** How many added members are shown. Whoever made the files may have added any number. */
const addedMax = 16;

function addedRows(added: Findings['added']): [string, string][] {
  const rows = Object.entries(added).map(([name, value]): [string, string] => [
    ADDED[name] ?? printable(name, 60),
    String(value),
  ]);
  const more = rows.length - addedMax;
  return more > 0 ? [...rows.slice(0, addedMax), ['also', `${more} more`]] : rows;
}

/** The signer, the job, its time and its end. Only signed facts are called signed. */
function summary({ receipt, isSigned, key_id, log, added }: Findings): HTMLElement | null {
  if (receipt === null) return null;
  const { job_id, tenant, status, finished_at } = receipt;
  const facts: [string, unknown][] = [
    ['Job', job_id],
    ['Tenant', tenant],
    ['Status', status],
    ['How it ended', endWords(receipt)],
    ['Finished', momentOf(finished_at)],
    ['Signed by', key_id],
    ['In the log', log.word],
    ...addedRows(added),
  ];
  const rows = facts.filter(([, value]) => typeof value === 'string' && value !== '');
  return element(
    'div',
    { class: 'summary' },
    isSigned
      ? null
      : element('p', { class: 'unsigned' }, 'The rest is what these files say. No key that you pinned signed it.'),
    element(
      'dl',
      {},
      ...rows.map(([name, value]) =>
        element('div', {}, element('dt', {}, name), element('dd', {}, printable(String(value)))),
      ),
    ),
  );
}

/** The verdict for the page's title. */
export function verdictTitle(verdict: ShownVerdict): string {
  return WORDS[verdict].title;
}
