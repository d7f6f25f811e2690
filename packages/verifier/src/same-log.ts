/** Whether a promise is of the log whose key the reader pinned. */
import { type NoteKey, noteKeyText, type PromisePredicate } from '@vouchbox/evidence';

/** The origin and the key are those that the promise names: a log under the same name with another key is another log. */
export function isSameLog(
  { logOrigin, logKey }: Pick<PromisePredicate, 'logOrigin' | 'logKey'>,
  pinned: NoteKey,
): boolean {
  return logOrigin === pinned.name && logKey === noteKeyText(pinned);
}
