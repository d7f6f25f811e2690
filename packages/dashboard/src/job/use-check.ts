/** The check of a job's record, made once for all parts of its page, and again when other keys are pinned. */
import { useQuery } from '@tanstack/react-query';
import type { JobDetail } from '@vouchbox/client';
import { usePinnedKeys } from '../session/pinned-keys.ts';
import { useCaller } from '../session/session.ts';
import { checkJob } from './check/check-job.ts';

export function useCheck({ job_id, attestation }: JobDetail) {
  const { client, whoami, isLive } = useCaller();
  const pinned = usePinnedKeys();
  const { tenant } = whoami;
  const check = useQuery({
    queryKey: ['checked', job_id, tenant, pinned.map(({ key_id }) => key_id)],
    queryFn: ({ signal }) => checkJob({ client, job_id, tenant, pinned, signal }),
    enabled: isLive && attestation.available,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return { check, isPinned: pinned.length > 0 };
}
