/** Searches a log's lines for a text, and goes from one found line to the next. */
import { countOf } from '@vouchbox/protocol/words';
import { type KeyboardEvent, useId } from 'react';

interface LogSearchProps {
  readonly sought: string;
  /** The numbers of the lines that contain the text, ascending. */
  readonly numbers: readonly number[];
  /** The line that the person went to last. */
  readonly current: number | null;
  readonly onSeek: (sought: string) => void;
  readonly onTurn: (number: number) => void;
}

export function LogSearch({ sought, numbers, current, onSeek, onTurn }: LogSearchProps) {
  const id = useId();
  const place = current === null ? -1 : numbers.indexOf(current);
  const turn = (step: 1 | -1) => {
    const next = nextOf(numbers, current ?? 0, step);
    if (next !== undefined) onTurn(next);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    turn(event.shiftKey ? -1 : 1);
  };
  return (
    <div className="output-search" role="search">
      <label className="hidden-visually" htmlFor={id}>
        Search the output
      </label>
      <input
        id={id}
        className="input"
        type="search"
        placeholder="Search"
        autoComplete="off"
        spellCheck={false}
        value={sought}
        onChange={(event) => onSeek(event.target.value)}
        onKeyDown={press}
      />
      {sought !== '' && (
        <>
          <span className="small soft" role="status">
            {place < 0 ? countOf(numbers.length) : `${countOf(place + 1)} of ${countOf(numbers.length)}`}
          </span>
          <button className="output-toggle" type="button" aria-label="Line before with this" onClick={() => turn(-1)}>
            ↑
          </button>
          <button className="output-toggle" type="button" aria-label="Next line with this" onClick={() => turn(1)}>
            ↓
          </button>
        </>
      )}
    </div>
  );
}

/** The next number after or before the current one. After the last number comes the first; before the first comes the last. */
function nextOf(numbers: readonly number[], current: number, step: 1 | -1): number | undefined {
  return step === 1
    ? (numbers.find((number) => number > current) ?? numbers[0])
    : (numbers.findLast((number) => number < current) ?? numbers.at(-1));
}
