/** Decides whether a promise is about the log whose key the reader pinned. */
import { logNameOf, type NoteKey, noteKeyText, type PromisePredicate, treeKeyOf } from '@vouchbox/evidence';

/**
 * Whether the origin and the key are those that the promise names. A log with the same name and another key is another log. A log
 * that was opened again still owes what its earlier trees promised.
 */
export function isSameLog(
  { logOrigin, logKey }: Pick<PromisePredicate, 'logOrigin' | 'logKey'>,
  pinned: NoteKey,
): boolean {
  const promised = treeKeyOf(pinned, logOrigin);
  if (promised === null || noteKeyText(promised) !== logKey) return false;
  return (logNameOf(logOrigin)?.tree ?? 0) <= (logNameOf(pinned.name)?.tree ?? 0);
}
