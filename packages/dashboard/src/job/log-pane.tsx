/** The lines of a log. The page contains only the lines in sight. */
import { useVirtualizer, type Virtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef } from 'react';
import type { HistorySnapshot } from './job-history.ts';
import { canFold, hasText, type OutputLine, rowIn, rowsOf } from './log-lines.ts';
import { LogRow } from './log-row.tsx';
import type { LogView } from './log-tools.tsx';

/** The height of a line in pixels, as in `output.css`, and how many lines are drawn out of sight. */
const linePixels = 20;
const linesAround = 20;
/** Within this many pixels of the end, the pane follows the output. */
const nearEndPixels = 30;

interface LogPaneProps {
  readonly history: HistorySnapshot;
  readonly lines: readonly OutputLine[];
  readonly view: LogView;
  readonly onFold: (folded: ReadonlySet<number>) => void;
  /** The number of the line that the address names. */
  readonly addressed: number | null;
  readonly onTurn: (number: number) => void;
}

export function LogPane({ history, lines, view, onFold, addressed, onTurn }: LogPaneProps) {
  const pane = useRef<HTMLDivElement>(null);
  const shown = useMemo(() => rowsOf(lines, view.folded), [history, lines, view.folded]);
  const rows = useVirtualizer({
    count: shown?.length ?? lines.length,
    getScrollElement: () => pane.current,
    estimateSize: () => linePixels,
    overscan: linesAround,
  });
  const pixels = rows.getTotalSize();
  const place = addressed === null ? -1 : rowOf(lines, shown, addressed, view.sought);
  // Scaled pages scroll by parts of a pixel.
  const isPast = (top: number) => place < 0 || top > (rows.getOffsetForIndex(place, 'start')?.[0] ?? 0) + 1;
  const { noteEnd, leaveEnd } = useFollowing(pane, { pixels, beginsAtEnd: addressed === null, isPast });
  useTurning(rows, place, leaveEnd);
  return (
    <section className="output-pane" ref={pane} tabIndex={0} aria-label="Lines of output" onScroll={noteEnd}>
      {lines.length === 0 && (
        <p className="output-empty">{history.isFinished ? 'It wrote nothing.' : 'Nothing was written yet.'}</p>
      )}
      <div
        className="output-lines"
        style={{ blockSize: pixels, '--digits': String(lines.length).length } as CSSProperties}
      >
        {rows.getVirtualItems().map(({ index, start, key }) => {
          const at = shown?.[index] ?? index;
          const line = lines[at];
          return (
            line && (
              <LogRow
                key={key}
                ref={view.isWrapped ? rows.measureElement : undefined}
                index={index}
                start={start}
                view={view}
                onTurn={onTurn}
                line={line}
                piece={pieceAt(shown, index)}
                isAddressed={line.number === addressed}
              >
                {canFold(lines, at) && <FoldButton number={line.number} folded={view.folded} onFold={onFold} />}
              </LogRow>
            )
          );
        })}
      </div>
    </section>
  );
}

interface Following {
  readonly pixels: number;
  readonly beginsAtEnd: boolean;
  /** Whether the addressed line is above the visible part that begins at `top`. True if no line is addressed. */
  readonly isPast: (top: number) => boolean;
}

/** Keeps the end of the output in sight until somebody scrolls up or goes to a line. */
function useFollowing(pane: RefObject<HTMLElement | null>, { pixels, beginsAtEnd, isPast }: Following) {
  const isAtEnd = useRef(beginsAtEnd);
  const lastTop = useRef(0);
  // The pane jumps to the end: smooth scrolling would take a while, and nobody could scroll away during that time.
  useLayoutEffect(() => {
    if (pane.current !== null && isAtEnd.current && pixels > 0) pane.current.scrollTop = pane.current.scrollHeight;
  }, [pane, pixels]);
  const noteEnd = () => {
    const { scrollTop = 0, clientHeight = 0, scrollHeight = 0 } = pane.current ?? {};
    // If only few lines follow the addressed line, the end is in sight, too. New lines must not scroll that line away.
    if (scrollTop + clientHeight >= scrollHeight - nearEndPixels) isAtEnd.current ||= isPast(scrollTop);
    // The reader leaves the end by scrolling up. The distance to the end shows nothing, because new output makes it larger, too.
    else if (scrollTop < lastTop.current) isAtEnd.current = false;
    lastTop.current = scrollTop;
  };
  const leaveEnd = useCallback(() => {
    isAtEnd.current = false;
  }, []);
  return { noteEnd, leaveEnd };
}

/** Brings a row into the middle of the pane. The place -1 means that there is no such row. */
function useTurning(rows: Virtualizer<HTMLDivElement, Element>, place: number, leaveEnd: () => void) {
  useEffect(() => {
    if (place < 0) return;
    leaveEnd();
    rows.scrollToIndex(place, { align: 'center' });
  }, [place, rows, leaveEnd]);
}

/** The row that shows a line; -1 if the line is not shown. If a line has several rows, the first one with the sought text. */
function rowOf(lines: readonly OutputLine[], rows: readonly number[] | null, number: number, sought: string): number {
  const place = lines[number - 1]?.number === number ? number - 1 : lines.findIndex((line) => line.number === number);
  if (rows === null || place < 0) return place;
  const first = rows.indexOf(place);
  const text = lines[place]?.text ?? '';
  const found = rows.findIndex((at, row) => at === place && hasText(rowIn(text, row - first)[1], sought));
  return found < 0 ? first : found;
}

/** How many rows before this one show the same line. */
function pieceAt(shown: readonly number[] | null, index: number): number {
  let piece = 0;
  while (shown !== null && shown[index - piece - 1] === shown[index]) piece++;
  return piece;
}

type FoldButtonProps = Pick<LogView, 'folded'> & Pick<LogPaneProps, 'onFold'> & { readonly number: number };

function FoldButton({ number, folded, onFold }: FoldButtonProps) {
  const isFolded = folded.has(number);
  const turn = () =>
    onFold(isFolded ? new Set([...folded].filter((one) => one !== number)) : new Set([...folded, number]));
  return (
    <button
      type="button"
      tabIndex={-1}
      aria-expanded={!isFolded}
      aria-label={`Lines under line ${number}`}
      onClick={turn}
    >
      {isFolded ? '▸' : '▾'}
    </button>
  );
}
