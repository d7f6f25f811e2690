/** A verdict, or the status of a job or a grading, as a word with a colour. */
import type { JobStatus } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
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

/** The tones of words that are not job statuses. A verdict that is not listed here, such as `wrong_answer`, is bad news. */
const OTHERS: Readonly<Record<string, Tone>> = {
  waiting: 'quiet',
  finished: 'good',
  judged: 'good',
  accepted: 'good',
  partial: 'warn',
  skipped: 'quiet',
  not_run: 'quiet',
};

export function StatusBadge({ status }: { readonly status: string }) {
  const tone = { ...TONES, ...OTHERS }[status] ?? 'bad';
  return <span className={`badge tone-${tone}`}>{printable(status, 40)}</span>;
}
