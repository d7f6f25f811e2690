/** The meanings of the members of a posture. */
import type { IsolationClass, JobDetail } from '@vouchbox/client';
import { LIMIT_NAMES, printable } from '@vouchbox/protocol/vocabulary';

export interface PostureWords {
  readonly sentence: string;
  /** `good` protects, `bad` does not, `quiet` was not observed or is only a name. */
  readonly tone: 'good' | 'bad' | 'quiet';
  /** The member of the contract, and its value. */
  readonly word: string;
}

const CLASSES: Readonly<Record<IsolationClass, string>> = {
  none: 'Nothing separated the program from the host.',
  'linux-shared-kernel': 'The program shared the kernel of the host, in namespaces of its own.',
  'gvisor-application-kernel': 'The program ran on a kernel of its own, gVisor, and not on that of the host.',
  'hardware-vm': 'The program ran in a virtual machine.',
  'confidential-vm': 'The program ran in a virtual machine whose memory the host cannot read.',
  'wasm-capability': 'The program ran as WebAssembly, with the capabilities that it was given.',
};

/** The wall between the program and the host, in a few words. */
const WALLS: Readonly<Record<IsolationClass, string>> = {
  none: 'nothing: it ran on the host',
  'linux-shared-kernel': 'namespaces on the kernel of the host',
  'gvisor-application-kernel': 'gVisor, a kernel of its own',
  'hardware-vm': 'a virtual machine',
  'confidential-vm': 'a virtual machine with encrypted memory',
  'wasm-capability': 'WebAssembly',
};

export interface HeldWords {
  readonly sentence: string;
  readonly more: string;
  readonly tone: 'good' | 'bad' | 'quiet';
}

/** The limits on the program, in two short lines. */
export function heldWords(job: JobDetail): HeldWords {
  if (job.backend === null) return { sentence: 'nothing ran', more: '', tone: 'quiet' };
  const isolation = isolationOf(job);
  const weak = postureWords(job).filter(({ tone }) => tone === 'bad').length;
  const held = LIMIT_NAMES.filter((name) => job.limit_enforcement?.[name] === true).length;
  const more = [
    job.network_allowed === false && 'no network',
    job.limit_enforcement != null && `${held} of ${LIMIT_NAMES.length} limits enforced`,
    weak > 0 && `${weak} ${weak === 1 ? 'weakness' : 'weaknesses'}`,
  ];
  return {
    sentence: isolation === null ? 'the protections were not observed' : WALLS[isolation],
    more: more.filter((words) => words !== false).join(' · '),
    tone: weak > 0 ? 'bad' : isolation === null ? 'quiet' : 'good',
  };
}

function isolationOf({ receipt, effective_spec }: JobDetail): IsolationClass | null {
  return receipt?.isolation_class ?? effective_spec?.isolation_class ?? null;
}

/** One sentence for each member. A member that is null was not observed; absent members have no text. */
export function postureWords(job: JobDetail): readonly PostureWords[] {
  const { receipt } = job;
  const isolation = isolationOf(job);
  if (job.backend === null) return [];
  const words: readonly (PostureWords | null)[] = [
    isolation === null
      ? unseen('What separated it from the host was not observed.', 'isolation_class null')
      : { sentence: CLASSES[isolation], tone: isolation === 'none' ? 'bad' : 'good', word: isolation },
    said(job.network_allowed, 'network_allowed', 'It could reach the network.', 'It had no network.', 'bad'),
    said(job.private_rootfs, 'private_rootfs', 'It saw a file system of its own.', 'It saw the files of the host.'),
    said(
      job.dedicated_bootstrap,
      'dedicated_bootstrap',
      'Its cell served no other job.',
      'Its cell may have served others.',
    ),
    seccompWords(job),
    said(receipt?.no_new_privileges, 'no_new_privileges', 'It could gain no privileges.', 'It could gain privileges.'),
    capabilityWords(receipt?.capabilities),
    runtimeWords(job),
  ];
  return words.filter((found) => found !== null);
}

function unseen(sentence: string, word: string): PostureWords {
  return { sentence, tone: 'quiet', word };
}

/** A member that is true or false. `bad` where true is the worse of the two. */
function said(
  value: boolean | null | undefined,
  name: string,
  whenTrue: string,
  whenFalse: string,
  toneWhenTrue: 'good' | 'bad' = 'good',
): PostureWords | null {
  if (value === undefined) return null;
  if (value === null)
    return unseen(`Whether ${lowerFirst(whenTrue).replace(/\.$/, '')} was not observed.`, `${name} null`);
  const isGood = value === (toneWhenTrue === 'good');
  return { sentence: value ? whenTrue : whenFalse, tone: isGood ? 'good' : 'bad', word: `${name} ${value}` };
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function seccompWords({ seccomp }: JobDetail): PostureWords {
  if (seccomp === null) return unseen('Whether its system calls were filtered was not observed.', 'seccomp null');
  if (seccomp === 'disabled')
    return { sentence: 'Its system calls were not filtered.', tone: 'bad', word: 'seccomp disabled' };
  return { sentence: 'Its system calls were filtered.', tone: 'good', word: `seccomp ${seccomp}` };
}

function capabilityWords(capabilities: string | null | undefined): PostureWords | null {
  if (capabilities === undefined) return null;
  if (capabilities === null) return unseen('Its privileges were not observed.', 'capabilities null');
  const word = `capabilities ${printable(capabilities, 40)}`;
  return /^0+$/.test(capabilities)
    ? { sentence: 'It had no privileges of root.', tone: 'good', word }
    : { sentence: 'It had some privileges of root.', tone: 'bad', word };
}

function runtimeWords({ receipt, backend }: JobDetail): PostureWords | null {
  const identity = receipt?.runtime_identity;
  if (identity === undefined) return null;
  const name = [identity.name, identity.version, identity.platform].filter((part) => part !== null).join(' ');
  return { sentence: `The cell was made by ${printable(name, 80)}.`, tone: 'quiet', word: `backend ${backend}` };
}
