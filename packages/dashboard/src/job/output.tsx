/** What a program wrote, as it writes it. Only the lines in sight are in the page. */
import { Toggle } from '@base-ui/react/toggle';
import { ToggleGroup } from '@base-ui/react/toggle-group';
import { useVirtualizer } from '@tanstack/react-virtual';
import { printableText } from '@vouchbox/protocol/vocabulary';
import { memo, useLayoutEffect, useRef, useState } from 'react';
import { useCopy } from '../parts/copy-button.tsx';
import { saveBytes } from '../parts/save-bytes.ts';
import { amountOf } from '../words/amounts.ts';
import { piecesOf } from './colours.ts';
import type { HistorySnapshot, OutputLine } from './job-history.ts';
import './output.css';

const STREAMS = ['both', 'stdout', 'stderr'] as const;
type Shown = (typeof STREAMS)[number];

/** Pixels of a line, as in `output.css`, and lines beyond those in sight. */
const linePixels = 20;
const linesAround = 20;
/** Within this many pixels of the end, the pane follows the output. */
const nearEndPixels = 30;

export function Output({ history }: { readonly history: HistorySnapshot }) {
  const [shown, setShown] = useState<Shown>('both');
  const [isWrapped, setWrapped] = useState(false);
  const copy = useCopy();
  const lines = history.lines[shown];
  const text = () => lines.map((line) => line.text).join('\n');
  return (
    <div className="output">
      <div className="output-tools">
        <ToggleGroup
          className="output-streams"
          aria-label="Streams"
          value={[shown]}
          onValueChange={([next]: Shown[]) => next !== undefined && setShown(next)}
        >
          {STREAMS.map((name) => (
            <Toggle key={name} value={name} className="output-toggle">
              {name}
            </Toggle>
          ))}
        </ToggleGroup>
        <Toggle className="output-toggle" pressed={isWrapped} onPressedChange={setWrapped}>
          wrap
        </Toggle>
        <span className="output-count small soft">{amountOf(lines.length, 'line')}</span>
        <button className="output-toggle" type="button" onClick={() => copy(text(), 'the output')}>
          copy
        </button>
        <button
          className="output-toggle"
          type="button"
          onClick={() => saveBytes(new TextEncoder().encode(text()), 'output.txt')}
        >
          save
        </button>
      </div>
      <Lines key={`${shown} ${isWrapped}`} history={history} shown={shown} isWrapped={isWrapped} />
    </div>
  );
}

interface LinesProps {
  readonly history: HistorySnapshot;
  readonly shown: Shown;
  readonly isWrapped: boolean;
}

function Lines({ history, shown, isWrapped }: LinesProps) {
  const pane = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const lastTop = useRef(0);
  const lines = history.lines[shown];
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => pane.current,
    estimateSize: () => linePixels,
    overscan: linesAround,
  });
  const { length } = lines;
  const pixels = rows.getTotalSize();
  // At once and not by the list, which goes on scrolling for a while: nobody could leave the end meanwhile.
  useLayoutEffect(() => {
    if (pane.current !== null && isAtEnd.current && pixels > 0) pane.current.scrollTop = pane.current.scrollHeight;
  }, [pixels]);
  const noteEnd = () => {
    const { scrollTop = 0, clientHeight = 0, scrollHeight = 0 } = pane.current ?? {};
    if (scrollTop + clientHeight >= scrollHeight - nearEndPixels) isAtEnd.current = true;
    // Only somebody who scrolls up leaves the end. Output that grew since also makes the end further away.
    else if (scrollTop < lastTop.current) isAtEnd.current = false;
    lastTop.current = scrollTop;
  };
  return (
    <section className="output-pane" ref={pane} tabIndex={0} aria-label="Lines of output" onScroll={noteEnd}>
      {length === 0 && (
        <p className="output-empty">{history.isFinished ? 'It wrote nothing.' : 'Nothing was written yet.'}</p>
      )}
      <div className="output-lines" style={{ blockSize: pixels }}>
        {rows.getVirtualItems().map(({ index, start, key }) => {
          const line = lines[index];
          return (
            line && (
              <div
                key={key}
                ref={isWrapped ? rows.measureElement : undefined}
                data-index={index}
                className={isWrapped ? 'output-line is-wrapped' : 'output-line'}
                data-stream={line.stream}
                style={{ translate: `0 ${start}px` }}
              >
                <Line line={line} />
              </div>
            )
          );
        })}
      </div>
    </section>
  );
}

/** One line: text with colours. Characters that steer a terminal or turn the direction of text are spelled out. */
const Line = memo(({ line }: { readonly line: OutputLine }) => {
  const text = line.text.endsWith('\r') ? line.text.slice(0, -1) : line.text;
  const pieces = piecesOf(text, line.colour);
  return pieces.map(({ text: part, classes, colour, ground }, place) => (
    <span
      key={place}
      className={classes === '' ? undefined : classes}
      style={
        colour === null && ground === null ? undefined : { color: colour ?? undefined, background: ground ?? undefined }
      }
    >
      {printableText(part)}
    </span>
  ));
});
