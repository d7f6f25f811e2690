/** Tells whoever received this file how to check that its page is genuine, and how to check the export without the page. */
import { printable } from '@vouchbox/protocol/vocabulary';
import type { Enclosed } from '../intake/enclosed.ts';
import { download } from './content.ts';
import { element, section } from './element.ts';

export function enclosedView({ file, pageBytes, pageDigest }: Enclosed): HTMLElement {
  const bytes = Number(pageBytes);
  return section(
    'enclosed',
    'This page came with the result',
    element(
      'p',
      {},
      'A page that calls itself genuine proves nothing. Compare it with one that you trust, or check the export with another tool.',
    ),
    element(
      'dl',
      {},
      fact(
        'The page',
        `must be the first ${bytes} bytes of this file, with SHA-256 ${printable(pageDigest, 64)}, like /verify of the service and the page that vouchbox verify-page writes.`,
        `head -c ${bytes} FILE | sha256sum`,
      ),
      fact(
        'The export',
        'is an archive. Save it, unpack it, and use the command instead of this page.',
        'service-verify directory DIRECTORY --public-key PINNED.pem --tenant TENANT',
        download('export.zip', () => file),
      ),
    ),
  );
}

/** Says that the result in the page's file is damaged. Otherwise, the page would look as if it came without a result. */
export function damagedView(problem: string): HTMLElement {
  return section(
    'damaged',
    'The result in this page is damaged',
    element('p', {}, `${problem} Nothing of it was checked. Get the file again from whoever gave it to you.`),
  );
}

function fact(name: string, text: string, command: string, button: HTMLElement | null = null): HTMLElement {
  return element(
    'div',
    {},
    element('dt', {}, name),
    element('dd', {}, text, element('pre', { tabindex: '0', role: 'region', 'aria-label': name }, command), button),
  );
}
