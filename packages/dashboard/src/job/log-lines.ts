/** The lines of a log: their text, how they are searched, and how lines fold if they are indented under another line. */
import type { StreamName } from '@vouchbox/client';

export interface OutputLine {
  /** The number of the event that began the line. */
  readonly seq: number;
  /** When the event that began the line was recorded. */
  readonly at: string;
  /** The line's place among all lines, from 1. */
  readonly number: number;
  readonly stream: StreamName;
  /** The whole line that the program wrote, even if the service sent it in several records. */
  readonly text: string;
  /** Whether a newline followed the line. */
  readonly isEnded: boolean;
  /** The colours' escape sequences that are in force at the start of the line. */
  readonly colour: string;
  /** Columns before the line's first visible character; null if the line is blank. */
  readonly indent: number | null;
}

type Lines = readonly OutputLine[];

const COLOURS = new RegExp(`${String.fromCharCode(0x1b)}\\[[\\d;]*m`, 'g');
/** The most lines that are searched for the end of a fold, because a program's output may be endless. */
const foldLinesMax = 100_000;
/** The most characters in a row. Longer rows make a browser slow. */
const rowCharacters = 16_384;

/** The text that the program wrote. A newline follows the last line only if the program wrote one. */
export function logText(lines: Lines): string {
  return lines.map(({ text }) => text).join('\n') + (lines.at(-1)?.isEnded === true ? '\n' : '');
}

/** Whether a text contains another one, regardless of case. Colours do not count as text. */
export function hasText(text: string, sought: string): boolean {
  return sought !== '' && text.replaceAll(COLOURS, '').toLowerCase().includes(sought.toLowerCase());
}

/** Searches for the numbers of the lines that contain a text. A repeated search reads only lines that are new or have grown. */
export function searchFor(sought: string): (lines: Lines) => readonly number[] {
  const read: OutputLine[] = [];
  const numbers: number[] = [];
  return (lines) => {
    for (const [place, line] of sought === '' ? [] : lines.entries()) {
      if (read[place] === line) continue;
      read[place] = line;
      if (!hasText(line.text, sought)) continue;
      const before = numbers.findLastIndex((number) => number <= line.number);
      if (numbers[before] !== line.number) numbers.splice(before + 1, 0, line.number);
    }
    return numbers;
  };
}

/** The place of the last line that is indented under the line at `place`; `place` itself if there is no such line. */
export function foldEnd(lines: Lines, place: number): number {
  const own = lines[place]?.indent ?? Number.POSITIVE_INFINITY;
  let end = place;
  for (let next = place + 1; next < lines.length && next - place < foldLinesMax; next++) {
    const indent = lines[next]?.indent ?? null;
    if (indent !== null && indent <= own) break;
    if (indent !== null) end = next;
  }
  return end;
}

/** Whether other lines are indented under the line at `place`. */
export function canFold(lines: Lines, place: number): boolean {
  return (lines[place + 1]?.indent ?? -1) > (lines[place]?.indent ?? Number.POSITIVE_INFINITY);
}

/** The rows while these lines are folded, each as the place of the line that it shows. Null if each line has exactly one row. */
export function rowsOf(lines: Lines, folded: ReadonlySet<number>): readonly number[] | null {
  if (folded.size === 0 && lines.every(({ text }) => text.length <= rowCharacters)) return null;
  const rows: number[] = [];
  for (let place = 0; place < lines.length; place++) {
    const { text, number } = lines[place] as OutputLine;
    for (let at = 0; at === 0 || at < text.length; at += rowCharacters) rows.push(place);
    if (folded.has(number)) place = foldEnd(lines, place);
  }
  return rows;
}

/** The part of a text before a row, and the part in that row. Rows are counted from 0. No character is cut in two. */
export function rowIn(text: string, row: number): readonly [before: string, shown: string] {
  const [from = 0, to] = [row, row + 1].map((each) => {
    const at = each * rowCharacters;
    return /^[\uDC00-\uDFFF]/.test(text.charAt(at)) ? at + 1 : at;
  });
  return [text.slice(0, from), text.slice(from, to)];
}

/** The numbers of the lines that have lines indented under them but are not indented under another line themselves. */
export function outermostFolds(lines: Lines): ReadonlySet<number> {
  const folds = new Set<number>();
  for (let place = 0; place < lines.length; place++) {
    if (!canFold(lines, place)) continue;
    folds.add((lines[place] as OutputLine).number);
    place = foldEnd(lines, place);
  }
  return folds;
}

/** Columns before the text's first visible character; null if the text is blank. */
export function indentOf(text: string): number | null {
  const [, blank = '', rest = ''] = /^([ \t]*)(.?)/.exec(text.replaceAll(COLOURS, '').trimEnd()) ?? [];
  return rest === '' ? null : blank.replaceAll('\t', '    ').length;
}
