/** The lines of a log. Only those in sight are in the page. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { printableText } from '@vouchbox/protocol/vocabulary';
import {
  type CSSProperties,
  Fragment,
  memo,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
} from 'react';
import { Moment } from '../parts/moment.tsx';
import { colourAfter, piecesOf } from './colours.ts';
import type { HistorySnapshot } from './job-history.ts';
import { canFold, hasText, type OutputLine, rowIn, rowsOf } from './log-lines.ts';
import type { LogView } from './log-tools.tsx';

/** Pixels of a line, as in `output.css`, and lines beyond those in sight. */
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
  const { sought, isWrapped, isTimed, folded } = view;
  const pane = useRef<HTMLDivElement>(null);
  const shown = useMemo(() => rowsOf(lines, folded), [history, lines, folded]);
  const rows = useVirtualizer({
    count: shown?.length ?? lines.length,
    getScrollElement: () => pane.current,
    estimateSize: () => linePixels,
    overscan: linesAround,
  });
  const pixels = rows.getTotalSize();
  const { noteEnd, leaveEnd } = useFollowing(pane, pixels, addressed === null);
  const place = addressed === null ? -1 : rowOf(lines, shown, addressed, sought);
  useEffect(() => {
    if (place < 0) return;
    leaveEnd();
    rows.scrollToIndex(place, { align: 'center' });
  }, [place, rows, leaveEnd]);
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
          // How many rows before this one show the same line.
          let piece = 0;
          while (shown?.[index - piece - 1] === at) piece++;
          const isFound = line !== undefined && hasText(rowIn(line.text, piece)[1], sought);
          return (
            line && (
              <div
                key={key}
                ref={isWrapped ? rows.measureElement : undefined}
                data-index={index}
                className={classesOf(isWrapped, isFound, line.number === addressed)}
                data-piece={piece}
                data-stream={line.stream}
                style={{ translate: `0 ${start}px` }}
              >
                <LineHead line={line} isTimed={isTimed} onTurn={onTurn}>
                  {canFold(lines, at) && <FoldButton number={line.number} folded={folded} onFold={onFold} />}
                </LineHead>
                <span className="output-text">
                  <Line line={line} piece={piece} sought={isFound ? sought : ''} />
                </span>
              </div>
            )
          );
        })}
      </div>
    </section>
  );
}

/** Keeps the end of the output in sight, until somebody scrolls up or turns to a line. */
function useFollowing(pane: RefObject<HTMLElement | null>, pixels: number, beginsAtEnd: boolean) {
  const isAtEnd = useRef(beginsAtEnd);
  const lastTop = useRef(0);
  // The pane jumps to the end: the list would scroll for a while, and nobody could leave the end meanwhile.
  useLayoutEffect(() => {
    if (pane.current !== null && isAtEnd.current && pixels > 0) pane.current.scrollTop = pane.current.scrollHeight;
  }, [pane, pixels]);
  const noteEnd = () => {
    const { scrollTop = 0, clientHeight = 0, scrollHeight = 0 } = pane.current ?? {};
    if (scrollTop + clientHeight >= scrollHeight - nearEndPixels) isAtEnd.current = true;
    // Only somebody who scrolls up leaves the end. Output that grew since also makes the end further away.
    else if (scrollTop < lastTop.current) isAtEnd.current = false;
    lastTop.current = scrollTop;
  };
  const leaveEnd = useCallback(() => {
    isAtEnd.current = false;
  }, []);
  return { noteEnd, leaveEnd };
}

/** The row of a line, of several the first with the sought text; -1 if it is not there. */
function rowOf(lines: readonly OutputLine[], rows: readonly number[] | null, number: number, sought: string): number {
  const place = lines[number - 1]?.number === number ? number - 1 : lines.findIndex((line) => line.number === number);
  if (rows === null || place < 0) return place;
  const first = rows.indexOf(place);
  const text = lines[place]?.text ?? '';
  const found = rows.findIndex((at, row) => at === place && hasText(rowIn(text, row - first)[1], sought));
  return found < 0 ? first : found;
}

function classesOf(isWrapped: boolean, isFound: boolean, isAddressed: boolean): string {
  return `output-line${isWrapped ? ' is-wrapped' : ''}${isFound ? ' is-found' : ''}${isAddressed ? ' is-addressed' : ''}`;
}

interface LineHeadProps {
  readonly line: OutputLine;
  readonly isTimed: boolean;
  readonly onTurn: (number: number) => void;
  readonly children: ReactNode;
}

/** The number of a line, with its address, and when it came. The Tab key skips these numbers: there may be thousands. */
function LineHead({ line: { number, at }, isTimed, onTurn, children }: LineHeadProps) {
  return (
    <span className="output-head">
      <a
        className="output-number"
        href={`#L${number}`}
        tabIndex={-1}
        aria-label={`Line ${number}`}
        onClick={(event) => {
          event.preventDefault();
          onTurn(number);
        }}
      >
        {number}
      </a>
      {isTimed && (
        <span className="output-time">
          <Moment at={at} isTimeOfDay />
        </span>
      )}
      <span className="output-fold">{children}</span>
    </span>
  );
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

interface LineProps {
  readonly line: OutputLine;
  /** Its row among those of the line, from 0. */
  readonly piece: number;
  readonly sought: string;
}

/** A row of a line: text with colours. Characters that steer a terminal or turn the direction of text are spelled out. */
const Line = memo(({ line, piece, sought }: LineProps) => {
  const text = line.text.endsWith('\r') ? line.text.slice(0, -1) : line.text;
  const [before, shown] = rowIn(text, piece);
  const pieces = piecesOf(shown, colourAfter(line.colour, before));
  return pieces.map(({ text: part, classes, colour, ground }, place) => (
    <span
      key={place}
      className={classes === '' ? undefined : classes}
      style={
        colour === null && ground === null ? undefined : { color: colour ?? undefined, background: ground ?? undefined }
      }
    >
      {sought === '' ? printableText(part) : marked(part, sought)}
    </span>
  ));
});

/** A text with each place of the sought text marked. */
function marked(text: string, sought: string): ReactNode {
  const lower = text.toLowerCase();
  // Some letters are longer in lower case: their places are not those of the text.
  if (lower.length !== text.length) return printableText(text);
  const parts: ReactNode[] = [];
  let at = 0;
  for (let next = lower.indexOf(sought.toLowerCase()); next >= 0; next = lower.indexOf(sought.toLowerCase(), at)) {
    const end = next + sought.length;
    parts.push(
      <Fragment key={next}>
        {printableText(text.slice(at, next))}
        <mark>{printableText(text.slice(next, end))}</mark>
      </Fragment>,
    );
    at = end;
  }
  return [...parts, printableText(text.slice(at))];
}
