/** A program's output as it is written. Lines can be chosen by stream, searched and folded, and each line has an address. */
import { amountOf } from '@vouchbox/protocol/words';
import { useMemo, useRef, useState } from 'react';
import type { HistorySnapshot } from './job-history.ts';
import { searchFor } from './log-lines.ts';
import { LogPane } from './log-pane.tsx';
import { LogSearch } from './log-search.tsx';
import { FIRST_VIEW, type LogView, SaveTools, ViewTools } from './log-tools.tsx';
import type { TurnedLine } from './use-line-address.ts';
import './output.css';

interface OutputProps {
  readonly job_id: string;
  readonly history: HistorySnapshot;
  /** The line in the page's address, and a function that goes to another line. */
  readonly turned: TurnedLine;
}

export function Output({ job_id, history, turned: [addressed, turn] }: OutputProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [view, setView] = useState(FIRST_VIEW);
  const change = (part: Partial<LogView>) => setView({ ...view, ...part });
  const { shown, sought, isWrapped } = view;
  const lines = history.lines[shown];
  const search = useMemo(() => searchFor(sought), [lines, sought]);
  return (
    <div className="output" ref={frame}>
      <div className="output-tools">
        <ViewTools lines={lines} view={view} onChange={change} />
        <LogSearch
          sought={sought}
          numbers={search(lines)}
          current={addressed}
          onSeek={(next) => change({ sought: next })}
          onTurn={(number) => {
            change({ folded: new Set() });
            turn(number);
          }}
        />
        <div className="output-saving">
          <span className="output-count small soft">{amountOf(lines.length, 'line')}</span>
          <SaveTools job_id={job_id} lines={lines} addressed={addressed} frame={frame} />
        </div>
      </div>
      <LogPane
        key={`${shown} ${isWrapped}`}
        history={history}
        lines={lines}
        view={view}
        onFold={(folded) => change({ folded })}
        addressed={addressed}
        onTurn={turn}
      />
    </div>
  );
}
