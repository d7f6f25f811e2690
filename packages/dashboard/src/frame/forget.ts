/** What the page forgets when somebody else may come. Only pinned keys stay: they are public. */
import { forgetDraft, ran } from '../draft/draft.ts';
import { forgetHistories } from '../job/use-job-history.ts';
import { queryClient } from '../query-client.ts';

/** Forgets all that was read. A draft is what was typed: it outlives a key that ended. */
export function forgetAll({ keepDraft }: { readonly keepDraft: boolean }): void {
  queryClient.clear();
  forgetHistories();
  ran.set(null);
  if (!keepDraft) forgetDraft();
}
