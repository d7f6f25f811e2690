/** The chain of a job's events, in which each ring names the previous ring. Of a long chain, only both ends are shown. */
import { printable } from '@vouchbox/protocol/vocabulary';
import { amountOf } from '@vouchbox/protocol/words';
import type { CheckedRecord } from './check/check-record.ts';

const digestCharacters = 12;

export function Chain({ record }: { readonly record: CheckedRecord }) {
  const { eventCount, firstBadSeq, rings } = record;
  return (
    <ol className="chain" aria-label={`Chain of ${amountOf(eventCount, 'event')}`}>
      {rings.map(({ seq, kind, event_hash }, index) => {
        const isBad = firstBadSeq !== null && seq >= firstBadSeq;
        const gap = seq - (rings[index - 1]?.seq ?? 0) - 1;
        return (
          <li key={seq} className={isBad ? 'chain-ring is-bad' : 'chain-ring'}>
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
