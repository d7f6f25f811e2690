/** Shows the state of the connection over which a job's events come. */

import type { Tone } from '../parts/notice.tsx';
import type { HistoryState } from './job-history.ts';
import '../parts/status-badge.css';

const STATES: Readonly<Record<HistoryState, readonly [tone: Tone, words: string]>> = {
  connecting: ['quiet', 'connecting'],
  live: ['good', 'live'],
  reconnecting: ['warn', 'reconnecting'],
  closed: ['quiet', 'closed'],
  offline: ['bad', 'offline'],
};

export function ConnectionState({ state }: { readonly state: HistoryState }) {
  const [tone, words] = STATES[state];
  return (
    <span className={`badge tone-${tone}`} role="status" aria-label={`Connection: ${words}`}>
      {words}
    </span>
  );
}
