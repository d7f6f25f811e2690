/** The limits on the program, as observed: the receipt's posture in a person's words. docs/VERIFYING.md. */
import { isJsonObject, type StoredReceipt } from '@vouchbox/evidence';
import { LIMIT_NAMES, printable } from '@vouchbox/protocol/vocabulary';
import { element, type Mark, mark, section } from './element.ts';

interface Line {
  readonly title: string;
  readonly text: string;
  /** A protection that held, one that did not, or one that nobody observed. */
  readonly state: Mark;
}

/** `isRefused`: nobody can say whether any of it is so, and its marks must not look like good news. */
export function postureView(receipt: StoredReceipt | null, isRefused: boolean): HTMLElement | null {
  if (receipt === null) return null;
  const shown = section(
    'posture',
    'What held the program',
    isRefused ? element('p', {}, 'These files say so, and they are not to be trusted.') : null,
    element('p', {}, leadOf(receipt)),
    ran(receipt)
      ? element('ul', { class: 'posture' }, ...[isolation(receipt), network(receipt), ...others(receipt)].map(item))
      : null,
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

function item({ title, text, state }: Line): HTMLElement {
  return element(
    'li',
    { class: state },
    mark(state),
    element('div', {}, element('strong', {}, title), element('span', {}, text)),
  );
}

const CLASSES: Readonly<Record<string, string>> = {
  none: 'Nothing separated the program from the host.',
  'linux-shared-kernel':
    'Linux namespaces: the program had its own view of files, processes, users and network, and shared the kernel of the host.',
  'gvisor-application-kernel':
    'gVisor: a kernel of its own, in user space, answered the program. It did not reach the kernel of the host directly.',
  'hardware-vm': 'A virtual machine: the program had a kernel of its own, on virtual hardware.',
  'confidential-vm': 'A confidential virtual machine: its memory was encrypted against the host.',
  'wasm-capability': 'WebAssembly: the program could use what it was handed, and nothing else.',
};

function isolation({ isolation_class, runtime_identity, runtime_pack }: StoredReceipt): Line {
  const text =
    typeof isolation_class === 'string'
      ? (CLASSES[isolation_class] ?? printable(isolation_class))
      : 'It was not observed.';
  const runtime = [named(runtime_identity), named(runtime_pack)].filter((name) => name !== '');
  const made = runtime.length === 0 ? '' : ` Made with ${runtime.join(', pack ')}.`;
  const state = isolation_class === null ? 'not_tried' : isolation_class === 'none' ? 'failed' : 'passed';
  return { title: 'Isolation', text: text + made, state };
}

function named(value: unknown): string {
  if (!isJsonObject(value)) return '';
  const { name, version } = value;
  return printable([name, version].filter((word) => typeof word === 'string').join(' '), 60);
}

function network({ networking }: StoredReceipt): Line {
  if (networking === 'disabled')
    return { title: 'Network', text: 'None: the program could reach no other host.', state: 'passed' };
  if (networking === 'host') return { title: 'Network', text: 'The network of the host.', state: 'failed' };
  return { title: 'Network', text: 'It was not observed.', state: 'not_tried' };
}

function others({ private_rootfs, seccomp, no_new_privileges, capabilities }: StoredReceipt): Line[] {
  return [
    fact('Files', private_rootfs === null ? null : private_rootfs === true, {
      held: 'A file tree of its own: it could not see the files of the host.',
      not: 'The file tree of the host.',
    }),
    fact('System calls', seccomp === null ? null : seccomp === 'filter' || seccomp === 'strict', {
      held: 'Filtered by seccomp: only those that programs need.',
      not: 'Not filtered by seccomp.',
    }),
    fact('Privileges', no_new_privileges === null ? null : no_new_privileges === true && capabilities === '0', {
      held: 'No capability, and no way to gain any.',
      not: `It had capabilities, or could gain some (${printable(String(capabilities), 40)}).`,
    }),
  ];
}

function fact(
  title: string,
  isHeld: boolean | null,
  { held, not }: { readonly held: string; readonly not: string },
): Line {
  if (isHeld === null) return { title, text: 'It was not observed.', state: 'not_tried' };
  return { title, text: isHeld ? held : not, state: isHeld ? 'passed' : 'failed' };
}

const LIMITS: Readonly<Record<string, { readonly title: string; readonly unit: string }>> = {
  wall_seconds: { title: 'Time', unit: 's' },
  cpu_seconds: { title: 'Processor time', unit: 's' },
  mem_mb: { title: 'Memory', unit: 'MiB' },
  max_pids: { title: 'Processes', unit: '' },
  max_file_mb: { title: 'One file', unit: 'MiB' },
};

/** The limit that was read back from the kernel, and whether it was in force. */
function limitsOf({ effective_limits, limit_enforcement }: StoredReceipt): HTMLElement | null {
  if (!isJsonObject(effective_limits) || !isJsonObject(limit_enforcement)) return null;
  const rows = LIMIT_NAMES.map((name) => {
    const { title, unit } = LIMITS[name] ?? { title: name, unit: '' };
    const value = effective_limits[name];
    const isInForce = limit_enforcement[name] === true;
    return element(
      'tr',
      {},
      element('th', { scope: 'row' }, title),
      element('td', {}, typeof value === 'number' ? `${value} ${unit}`.trim() : 'not observed'),
      element('td', {}, mark(isInForce ? 'passed' : 'failed'), isInForce ? 'in force' : 'not in force'),
    );
  });
  const head = ['Limit', 'As read back', ''].map((name, at) =>
    at === 2 ? element('td', {}) : element('th', { scope: 'col' }, name),
  );
  return element(
    'table',
    { class: 'limits' },
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...rows),
  );
}
