/** Reads /proc/PID/status, as the kernel of a host or of a cell shows it. */
import type { SeccompMode } from '@vouchbox/protocol';

/** The modes as proc_pid_status(5) numbers them. */
const SECCOMP_MODES_BY_NUMBER: Readonly<Record<string, SeccompMode>> = {
  '0': 'disabled',
  '1': 'strict',
  '2': 'filter',
};

/** One /proc/PID/status (proc_pid_status(5)). */
export interface Status {
  /** The value of a member, by its name without the colon. */
  get(name: string): string | undefined;
}

/** Reads a status. Only a few of its many members are needed, so each is looked up when it is requested. */
export function parseStatus(text: string): Status {
  const lines = `\n${text}`;
  return {
    get(name) {
      const before = `\n${name}:`;
      const at = lines.indexOf(before);
      if (at < 0) return undefined;
      const end = lines.indexOf('\n', at + before.length);
      return lines.slice(at + before.length, end < 0 ? undefined : end).trim();
    },
  };
}

/** The seccomp mode of a status; null if it states none. */
export function seccompOf(status: Status): SeccompMode | null {
  return SECCOMP_MODES_BY_NUMBER[status.get('Seccomp') ?? ''] ?? null;
}

/** The effective capability set of a status, as hex without leading zeros; null if it states none. */
export function capabilitiesOf(status: Status): string | null {
  const effective = status.get('CapEff');
  return effective === undefined ? null : BigInt(`0x${effective}`).toString(16);
}
