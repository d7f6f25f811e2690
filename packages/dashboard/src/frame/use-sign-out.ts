/** The way out: the key is forgotten, and with it all that was read and typed. Only pinned keys stay: they are public. */
import { useQueryClient } from '@tanstack/react-query';
import { forgetDraft } from '../draft/draft.ts';
import { forgetJobLogs } from '../job/use-job-log.ts';
import { signOut } from '../session/session.ts';

export function useSignOut(): () => void {
  const queries = useQueryClient();
  return () => {
    signOut();
    queries.clear();
    forgetJobLogs();
    forgetDraft();
  };
}
