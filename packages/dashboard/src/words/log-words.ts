/** Whether a head of the log has witnesses, in the words of the verifier. */
import type { Checkpoint } from '@vouchbox/evidence';
import { printable } from '@vouchbox/protocol/vocabulary';

/** The word for a head, never `WITNESSED`: only keys that the reader pinned show that a witness signed it. */
export function logWord({ origin, note }: Pick<Checkpoint, 'origin' | 'note'>): string {
  const names = new Set(note.signatures.map(({ name }) => name).filter((name) => name !== origin));
  if (names.size === 0) return 'UNWITNESSED: its operator could show others another log';
  return `lines of ${[...names].map((name) => printable(name, 120)).join(', ')}, which nobody checked here`;
}
