/** A row of a log: a line of output, or a part of a long one. */
import { printableText } from '@vouchbox/protocol/vocabulary';
import { Fragment, memo, type ReactNode, type Ref } from 'react';
import { Moment } from '../parts/moment.tsx';
import { colourAfter, piecesOf } from './colours.ts';
import { hasText, type OutputLine, rowIn } from './log-lines.ts';
import type { LogView } from './log-tools.tsx';

interface LogRowProps extends Omit<LineHeadProps, 'isTimed'> {
  /** Measures the height of the row. */
  readonly ref: Ref<HTMLDivElement> | undefined;
  readonly index: number;
  /** Pixels above the row. */
  readonly start: number;
  /** The row's place among the rows of its line, from 0. */
  readonly piece: number;
  readonly isAddressed: boolean;
  readonly view: LogView;
}

export function LogRow({ ref, index, start, piece, isAddressed, view, line, onTurn, children }: LogRowProps) {
  const { sought, isWrapped, isTimed } = view;
  const isFound = hasText(rowIn(line.text, piece)[1], sought);
  return (
    <div
      ref={ref}
      data-index={index}
      className={classesOf(isWrapped, isFound, isAddressed)}
      data-piece={piece}
      data-stream={line.stream}
      style={{ translate: `0 ${start}px` }}
    >
      <LineHead line={line} isTimed={isTimed} onTurn={onTurn}>
        {children}
      </LineHead>
      <span className="output-text">
        <Line line={line} piece={piece} sought={isFound ? sought : ''} />
      </span>
    </div>
  );
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

/** A line's number, as a link to the line, and its time. The Tab key skips these numbers, because there may be thousands. */
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

interface LineProps {
  readonly line: OutputLine;
  readonly piece: number;
  readonly sought: string;
}

/** A row of a line: text with colours. Characters that control a terminal or change the direction of text are spelled out. */
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

/** A text in which every occurrence of the sought text is marked. */
function marked(text: string, sought: string): ReactNode {
  const lower = text.toLowerCase();
  // Some letters are longer in lower case. Then places in the lower-case text would be wrong, so no occurrence is marked.
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
