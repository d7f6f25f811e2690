/** Shows which limits the program broke and which output was cut. Shows nothing if there is neither. */
import { printable } from '@vouchbox/protocol/vocabulary';
import { sizeOf } from '@vouchbox/protocol/words';
import { Notice } from '../parts/notice.tsx';
import type { HistorySnapshot } from './job-history.ts';

export function Violations({ history }: { readonly history: HistorySnapshot }) {
  const violations = history.events.flatMap((event) => (event.kind === 'violation' ? [event] : []));
  const cuts = history.events.flatMap((event) => (event.kind === 'truncated' ? [event] : []));
  if (violations.length + cuts.length === 0) return null;
  return (
    <Notice tone="warn">
      <h2>Violations</h2>
      <ul className="stack-small">
        {violations.map(({ seq, data: { type, message, path } }) => (
          <li key={seq}>
            <code>{type}</code> {printable(message)}
            {path !== undefined && !message.includes(path) && (
              <>
                {' '}
                <code>{printable(path)}</code>
              </>
            )}
          </li>
        ))}
        {cuts.map(({ seq, data: { stream, bytes_stored, bytes_seen } }) => (
          <li key={seq}>
            <code>truncated</code> {sizeOf(bytes_stored)} of the {sizeOf(bytes_seen)} on {stream} were kept.
          </li>
        ))}
      </ul>
    </Notice>
  );
}
