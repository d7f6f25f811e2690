/** Makes the page forget everything before another person comes. Only the pinned keys stay, because they are public. */
import { forgetDraft, ran } from '../draft/draft.ts';
import { forgetHistories } from '../job/use-job-history.ts';
import { queryClient } from '../query-client.ts';

/** Forgets everything that was read. After a key has ended, the typed draft can be kept. */
export function forgetAll({ keepDraft }: { readonly keepDraft: boolean }): void {
  queryClient.clear();
  forgetHistories();
  ran.set(null);
  if (!keepDraft) forgetDraft();
}
