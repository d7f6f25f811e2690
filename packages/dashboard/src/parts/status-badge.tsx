/** The status of a job, as a word with a colour. */
import type { JobStatus } from '@vouchbox/client';
import type { Tone } from './notice.tsx';
import './notice.css';
import './status-badge.css';

const TONES: Readonly<Record<JobStatus, Tone>> = {
  queued: 'quiet',
  running: 'busy',
  succeeded: 'good',
  failed: 'bad',
  timed_out: 'warn',
  oom_killed: 'warn',
  cancelled: 'quiet',
  error: 'bad',
};

export function StatusBadge({ status }: { readonly status: JobStatus }) {
  return <span className={`badge tone-${TONES[status] ?? 'quiet'}`}>{status}</span>;
}
