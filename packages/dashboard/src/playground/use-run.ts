/** Submits the draft. An answer that is lost does no harm: the client repeats the submission with the same key. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { JobSubmission } from '@vouchbox/client';
import { useRan } from '../draft/draft.ts';
import { useCaller } from '../session/session.ts';

export function useRun() {
  const { client } = useCaller();
  const queries = useQueryClient();
  const [, remember] = useRan();
  return useMutation({
    mutationFn: (submission: JobSubmission) => client.submit(submission),
    onSuccess: ({ job_id }) => {
      remember(job_id);
      return queries.invalidateQueries({ queryKey: ['jobs', 'newest'] });
    },
  });
}
