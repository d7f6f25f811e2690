/** Says whether a log's head has witnesses, in the verifier's words. */
import type { Checkpoint } from '@vouchbox/evidence';
import { printable } from '@vouchbox/protocol/vocabulary';

/** The word for a head. It is never `WITNESSED`: only keys that the reader pinned can show that a witness signed the head. */
export function logWord({ origin, note }: Pick<Checkpoint, 'origin' | 'note'>): string {
  const names = new Set(note.signatures.map(({ name }) => name).filter((name) => name !== origin));
  if (names.size === 0) return 'UNWITNESSED: its operator could show others another log';
  return `lines of ${[...names].map((name) => printable(name, 120)).join(', ')}, which nobody checked here`;
}
