/** The answer to a submission that was accepted. */
import { jobPath, type SubmissionAnswer } from '@vouchbox/protocol';
import type { AcceptedJob } from '../../store/records/answers.ts';

/** The answer to every submission with the same key. It shows no later status, which only readers of the job may learn. */
export function answerOf({ job_id, created_at }: AcceptedJob, peer: string | null): SubmissionAnswer {
  return {
    job_id,
    status: 'queued',
    created_at,
    stream_url: jobPath('streamEvents', job_id),
    history_url: jobPath('replayEvents', job_id),
    result_url: jobPath('getResult', job_id),
    ...(peer !== null && { interaction: { peer, role: 'program' } }),
  };
}
