/** The chain of a job's events: each link names the one before it. Long chains are shown at both ends. */
import type { JobEvent } from '@vouchbox/protocol';
import { printable } from '@vouchbox/protocol/vocabulary';

interface ChainProps {
  readonly events: readonly JobEvent[];
  /** The first event that does not hold; null if all do. */
  readonly firstBadSeq: number | null;
}

/** Links at each end, and around one that is broken. */
const shownLinks = 3;
const digestCharacters = 12;

export function Chain({ events, firstBadSeq }: ChainProps) {
  const shown = events.filter(({ seq }) => {
    const isNearEnd = seq <= shownLinks || seq > events.length - shownLinks;
    return isNearEnd || (firstBadSeq !== null && Math.abs(seq - firstBadSeq) <= 1);
  });
  return (
    <ol className="chain" aria-label={`Chain of ${events.length} events`}>
      {shown.map(({ seq, kind, event_hash }, index) => {
        const isBad = firstBadSeq !== null && seq >= firstBadSeq;
        const gap = seq - (shown[index - 1]?.seq ?? 0) - 1;
        return (
          <li key={seq} className={isBad ? 'chain-link is-bad' : 'chain-link'}>
            {gap > 0 && <span className="chain-gap soft small">{gap} more</span>}
            <span className="chain-box">
              <strong>{seq}</strong> {printable(kind, 30)}
              <code className="soft">{event_hash?.slice(0, digestCharacters) ?? 'no digest'}</code>
              {isBad && <span className="hidden-visually">does not hold</span>}
            </span>
          </li>
        );
      })}
    </ol>
  );
}
