/**
 * Sentences about what isolated and limited a program. Anybody may have written a receipt, so a value that the contract does not
 * know is quoted, and never called good.
 */
import type { IsolationClass } from '../isolation.ts';
import { LIMIT_NAMES } from '../limits.ts';
import { printable } from '../printable.ts';

/** `good` protects, `bad` does not, `quiet` was not observed or is not known. */
export type PostureTone = 'good' | 'bad' | 'quiet';

export interface PostureWords {
  readonly title: string;
  readonly sentence: string;
  readonly tone: PostureTone;
  /** The member of the contract and its value as JSON; null if the member is absent, as some are before a job ends. */
  readonly member: string | null;
}

/** The members of a receipt, with any values. */
export type Observed = Readonly<Record<string, unknown>>;

/** What was observed about a job. Once the job has a receipt, the receipt says more than the job itself. */
export function observedOf(
  job: object & { readonly effective_spec: { readonly isolation_class: unknown } | null; readonly receipt?: object },
): Observed {
  return { isolation_class: job.effective_spec?.isolation_class ?? null, ...job, ...job.receipt };
}

const TITLES = {
  isolation_class: 'Isolation',
  networking: 'Network',
  private_rootfs: 'Files',
  dedicated_bootstrap: 'Cell',
  seccomp: 'System calls',
  no_new_privileges: 'Privileges',
  capabilities: 'Capabilities',
} as const;

/** Sentences about members that protect, keyed by the member and its value as JSON. */
const GOOD: Readonly<Record<string, string>> = {
  'isolation_class "linux-shared-kernel"':
    'Linux namespaces: the program had its own view of files, processes, users and network, and shared the kernel of the host.',
  'isolation_class "gvisor-application-kernel"':
    'gVisor: a kernel of its own, in user space, answered the program. It did not reach the kernel of the host directly.',
  'isolation_class "hardware-vm"': 'A virtual machine: the program had a kernel of its own, on virtual hardware.',
  'isolation_class "confidential-vm"': 'A confidential virtual machine: its memory was encrypted against the host.',
  'isolation_class "wasm-capability"': 'WebAssembly: the program could use what it was handed, and nothing else.',
  'networking "disabled"': 'The program had none, and could reach no other host.',
  'private_rootfs true': 'The program had a file tree of its own, and could not see the files of the host.',
  'dedicated_bootstrap true': 'The cell served no other job.',
  'seccomp "filter"': 'Seccomp let only those through that programs need.',
  'seccomp "strict"': 'Seccomp let only those through that read, write and exit.',
  'no_new_privileges true': 'The program could gain none.',
  'capabilities "0"': 'The program had no privileges of root.',
};

/** Sentences about members that do not protect. */
const BAD: typeof GOOD = {
  'isolation_class "none"': 'Nothing separated the program from the host.',
  'networking "host"': 'The program had that of the host.',
  'private_rootfs false': 'The program saw the file tree of the host.',
  'dedicated_bootstrap false': 'The cell may have served other jobs.',
  'seccomp "disabled"': 'They were not filtered.',
  'no_new_privileges false': 'The program could gain some.',
};

/** A sentence about each protection. */
export function postureWords(observed: Observed): readonly PostureWords[] {
  return Object.entries(TITLES).map(([name, title]) => {
    const json = JSON.stringify(observed[name]) as string | undefined;
    const [tone, sentence] = meaningOf(name, json ?? 'null');
    const made = name === 'isolation_class' ? madeWith(observed) : '';
    const member = json === undefined ? null : printable(`${name} ${json}`, 80);
    return { title, sentence: sentence + made, tone, member };
  });
}

function meaningOf(name: string, json: string): readonly [tone: PostureTone, sentence: string] {
  const member = `${name} ${json}`;
  const [good, bad] = [GOOD[member], BAD[member]];
  if (good !== undefined) return ['good', good];
  if (bad !== undefined) return ['bad', bad];
  if (json === 'null') return ['quiet', 'This was not observed.'];
  const text = printable(json, 40);
  return name === 'capabilities'
    ? ['bad', `The program had some privileges of root: ${text}.`]
    : ['quiet', `This value is not known here: ${text}.`];
}

function madeWith({ runtime_identity, runtime_pack }: Observed): string {
  const names = [runtime_identity, runtime_pack].map(nameOf).filter((name) => name !== '');
  return names.length === 0 ? '' : ` Made with ${names.join(', pack ')}.`;
}

function nameOf(made: unknown): string {
  const { name, version, platform } = (made ?? {}) as Observed;
  return printable([name, version, platform].filter((part) => typeof part === 'string').join(' '), 80);
}

/** The wall between the program and the host, in a few words. */
const WALLS: Readonly<Record<IsolationClass, string>> = {
  none: 'nothing: it ran on the host',
  'linux-shared-kernel': 'namespaces on the kernel of the host',
  'gvisor-application-kernel': 'gVisor, a kernel of its own',
  'hardware-vm': 'a virtual machine',
  'confidential-vm': 'a virtual machine with encrypted memory',
  'wasm-capability': 'WebAssembly',
};

export type HeldWords = Pick<PostureWords, 'sentence'> & { readonly more: string; readonly isWeak: boolean };

/** Two short lines about everything that isolated and limited the program. */
export function heldWords(observed: Observed): HeldWords {
  const { backend, isolation_class, networking, limit_enforcement } = observed;
  if (backend === null) return { sentence: 'nothing ran', more: '', isWeak: false };
  const unknown = isolation_class == null ? 'its isolation was not observed' : 'its isolation is not known here';
  const weak = postureWords(observed).filter(({ tone }) => tone === 'bad').length;
  const enforced = LIMIT_NAMES.filter((name) => (limit_enforcement as Observed | null)?.[name] === true).length;
  const more = [
    networking === 'disabled' && 'no network',
    limit_enforcement != null && `${enforced} of ${LIMIT_NAMES.length} limits enforced`,
    weak > 0 && `${weak} ${weak === 1 ? 'weakness' : 'weaknesses'}`,
  ];
  return {
    sentence: Object.entries(WALLS).find(([name]) => name === isolation_class)?.[1] ?? unknown,
    more: more.filter((words) => words !== false).join(' · '),
    isWeak: weak > 0,
  };
}
