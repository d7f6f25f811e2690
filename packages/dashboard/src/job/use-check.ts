/** The check of a job's record. It is made once for all parts of the page, and again when other keys are pinned. */
import { useQuery } from '@tanstack/react-query';
import type { JobDetail } from '@vouchbox/client';
import { usePinnedKeys } from '../session/pinned-keys.ts';
import { useCaller } from '../session/session.ts';
import { useCapabilities } from '../session/use-capabilities.ts';
import { checkJob } from './check/check-job.ts';
import { signingWords } from './signing-words.ts';

/** Whether the service signs; true until that is known. */
export function useSigns(): boolean {
  return useQuery(useCapabilities()).data?.signer !== null;
}

export function useCheck(job: JobDetail) {
  const { job_id, attestation } = job;
  const signs = useSigns();
  const { client, whoami, isLive } = useCaller();
  const pinned = usePinnedKeys();
  const { tenant } = whoami;
  const check = useQuery({
    queryKey: ['checked', job_id, tenant, pinned.map(({ key_id }) => key_id)],
    queryFn: ({ signal }) => checkJob({ client, job_id, tenant, pinned, signal }),
    enabled: isLive && attestation.available,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const isPinned = pinned.length > 0;
  const signed = signingWords(job, { record: check.data, isError: check.isError, isPinned, signs });
  return { check, isPinned, signed };
}
