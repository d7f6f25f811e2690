/** What the page for a link shows, except the verdict. Everything from the job is shown as text or offered as a download. */
import { argumentsText, isJsonObject, parseStrictJson, variablesText } from '@vouchbox/evidence';
import type { LinkedJob } from '@vouchbox/protocol';
import { printable, RESULT_MEDIA_TYPE } from '@vouchbox/protocol/vocabulary';
import { endWords, momentOf } from '@vouchbox/protocol/words';
import { element, fileNameOf, save, section, stream } from '@vouchbox/verify-page';
import type { LaterFile, LinkedResult } from './read-link.ts';

/** What the page shows if a link opens nothing. The service does not say why, and the page does not guess. */
export function goneView(): HTMLElement {
  return section(
    'gone',
    'This link is unknown or has ended',
    element(
      'p',
      {},
      'Its time may be over, or its maker may have ended it. The job may be removed, the address may be incomplete, or the operator may allow no links now.',
    ),
    element(
      'p',
      {},
      'Ask the person who gave it to you for another. If you saved the files, the ',
      element('a', { href: '/verify' }, 'page that verifies'),
      ' checks them without the link.',
    ),
  );
}

export function noSecretView(): HTMLElement {
  return section(
    'gone',
    'This address is incomplete',
    element(
      'p',
      {},
      'The part behind the # is missing. Open the address as it was given to you. It leaves the address bar once it is read, so a bookmark or a copy from there does not have it.',
    ),
  );
}

export function troubleView(text: string, again: () => void): HTMLElement {
  const button = element('button', { type: 'button' }, 'Try again');
  button.addEventListener('click', again);
  return section('trouble', 'The result could not be read', element('p', {}, text), element('p', {}, button));
}

export function waitingView(job: LinkedJob): HTMLElement {
  return section('waiting', endWords(job), element('p', {}, 'The result appears here by itself once it has ended.'));
}

/** The program's output, and the limits that the program broke. */
export function printedView({ stdout, stderr, truncated, violations }: LinkedResult['printed']): HTMLElement {
  return section(
    'output',
    'What it printed',
    stream('stdout', stdout),
    stream('stderr', stderr),
    truncated ? element('p', {}, 'It printed more than the service records, and the rest is lost.') : null,
    violations.length === 0
      ? null
      : element(
          'ul',
          { 'aria-label': 'Limits that it broke' },
          ...violations.map(({ type, message }) => element('li', {}, printable(`${type}: ${message}`, 400))),
        ),
  );
}

/** The code and the input that the link shows; null if it shows neither. */
export function givenView({ requested_spec }: LinkedJob): HTMLElement | null {
  const { code, stdin } = requested_spec;
  const given = {
    code,
    arguments: argumentsText(requested_spec),
    variables: variablesText(requested_spec),
    stdin,
  };
  const shown = Object.entries(given).flatMap(([name, text]) => (text == null ? [] : [stream(name, text)]));
  return shown.length === 0 ? null : section('given-to-it', 'What it was given', ...shown);
}

/** Files that are fetched one at a time when they are requested; null if there are none. */
export function laterView(
  files: readonly LaterFile[],
  read: (file: LaterFile) => Promise<BlobPart>,
): HTMLElement | null {
  if (files.length === 0) return null;
  const note = element('p', { class: 'note', role: 'status' });
  const items = files.map((file) => {
    const path = printable(file.path);
    const button = element('button', { type: 'button', class: 'quiet', 'aria-label': `Download ${path}` }, 'Download');
    const fetchIt = async () => {
      note.textContent = `Fetching ${path} …`;
      try {
        save(fileNameOf(file.path), await read(file));
        note.textContent = `${path} is here, with the digest that the receipt names.`;
      } catch (error) {
        const why = error instanceof Error ? error.message : '';
        note.textContent = why || `${path} is no longer kept, or the link has ended.`;
      }
    };
    button.addEventListener('click', () => void fetchIt());
    return element('li', {}, element('span', { class: 'path' }, path), button);
  });
  return section('large', 'Large files', element('ul', { class: 'files' }, ...items), note);
}

export function factsView(job: LinkedJob): HTMLElement {
  const { language, runtime, created_at, started_at, shows, expires_at } = job;
  const facts: [string, unknown][] = [
    ['Language', language],
    ['Runtime', runtime],
    ['How it ended', endWords(job)],
    ['Submitted', momentOf(created_at)],
    ['Started', momentOf(started_at)],
    ['This link ends', momentOf(expires_at)],
    ['It leaves out', ['code', 'input', 'files'].filter((part) => !shows.some((shown) => shown === part)).join(', ')],
  ];
  const rows = facts.filter(([, value]) => typeof value === 'string' && value !== '');
  const items = rows.map(([name, value]) =>
    element('div', {}, element('dt', {}, name), element('dd', {}, printable(String(value)))),
  );
  return section('facts', 'The job', element('dl', {}, ...items));
}

/** How to make the same check without this page. */
export function elsewhereView({ tenant, job_id }: LinkedJob): HTMLElement {
  const command = [
    'service-verify verify --envelope attestation.dsse.json --subject result.json',
    '--public-key PINNED.pem',
    `--tenant ${printable(tenant)}`,
    `--subject-name svc://jobs/${printable(job_id)}/result`,
    `--media-type ${RESULT_MEDIA_TYPE}`,
  ].join(' \\\n  ');
  return section(
    'elsewhere',
    'Check it without this service',
    element(
      'p',
      {},
      'A page from the service that signed is only as trustworthy as that service. Download attestation.dsse.json and result.json from the list above. Drop both on a ',
      element('a', { href: '/verify' }, 'page that verifies'),
      ', best on one that you got elsewhere, or run:',
    ),
    element('pre', { tabindex: '0', role: 'region', 'aria-label': 'Command' }, command),
  );
}

/** The key id that the envelope states for its signature. It is only a name and proves nothing. */
export function statedSigner(envelope: Uint8Array | undefined): string | null {
  const json = envelope === undefined ? null : parseStrictJson(envelope);
  if (json?.kind !== 'value' || !isJsonObject(json.value)) return null;
  const { signatures } = json.value;
  const [first] = Array.isArray(signatures) ? (signatures as unknown[]) : [];
  return isJsonObject(first) && typeof first['keyid'] === 'string' ? printable(first['keyid'], 100) : null;
}
