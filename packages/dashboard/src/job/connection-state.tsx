/** Whether what is shown comes from the service as it happens. */

import type { Tone } from '../parts/notice.tsx';
import type { LogState } from './job-log.ts';
import '../parts/status-badge.css';

const STATES: Readonly<Record<LogState, readonly [tone: Tone, words: string]>> = {
  connecting: ['quiet', 'connecting'],
  live: ['good', 'live'],
  reconnecting: ['warn', 'reconnecting'],
  closed: ['quiet', 'closed'],
  offline: ['bad', 'offline'],
};

export function ConnectionState({ state }: { readonly state: LogState }) {
  const [tone, words] = STATES[state];
  return (
    <span className={`badge tone-${tone}`} role="status" aria-label={`Connection: ${words}`}>
      {words}
    </span>
  );
}
