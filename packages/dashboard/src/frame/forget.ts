/** What the page forgets when another person may come: everything but pinned keys, which are public. */
import { forgetDraft, ran } from '../draft/draft.ts';
import { forgetHistories } from '../job/use-job-history.ts';
import { queryClient } from '../query-client.ts';

/** Forgets all that was read. The draft, which was typed, can be kept after a key has ended. */
export function forgetAll({ keepDraft }: { readonly keepDraft: boolean }): void {
  queryClient.clear();
  forgetHistories();
  ran.set(null);
  if (!keepDraft) forgetDraft();
}
