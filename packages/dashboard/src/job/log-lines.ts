/** The lines of a log: their text, the search in them, and the folds of lines that are indented under another line. */
import type { StreamName } from '@vouchbox/client';

export interface OutputLine {
  /** The number of the event that began the line. */
  readonly seq: number;
  /** When the event that began the line was recorded. */
  readonly at: string;
  /** The line's place among all lines, from 1. */
  readonly number: number;
  readonly stream: StreamName;
  /** The whole line as the program wrote it, even if the service sends a long line in several records. */
  readonly text: string;
  /** Whether a newline followed the line. */
  readonly isEnded: boolean;
  /** The escape sequences of colours that are in force where the line begins. */
  readonly colour: string;
  /** Columns before the first character of the line; null if the line has none. */
  readonly indent: number | null;
}

type Lines = readonly OutputLine[];

const COLOURS = new RegExp(`${String.fromCharCode(0x1b)}\\[[\\d;]*m`, 'g');
/** The most lines that are searched for the end of a fold: the output of a program may be endless. */
const foldLinesMax = 100_000;
/** The most characters of a row: a browser is slow with longer rows. */
const rowCharacters = 16_384;

/** The text that the program wrote. A newline follows the last line only if the program wrote one. */
export function logText(lines: Lines): string {
  return lines.map(({ text }) => text).join('\n') + (lines.at(-1)?.isEnded === true ? '\n' : '');
}

/** Whether a text contains another, whatever the case of their letters. Colours do not count as text. */
export function hasText(text: string, sought: string): boolean {
  return sought !== '' && text.replaceAll(COLOURS, '').toLowerCase().includes(sought.toLowerCase());
}

/** A search for the numbers of lines that contain a text. A repeated search reads only the lines that are new or have grown. */
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

/** The last line that is indented under the line at a place; the place itself if no line is. */
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

/** Whether lines are indented under the line at a place. */
export function canFold(lines: Lines, place: number): boolean {
  return (lines[place + 1]?.indent ?? -1) > (lines[place]?.indent ?? Number.POSITIVE_INFINITY);
}

/** The place of the line that each row shows, if these lines are folded. Null if each line has exactly one row. */
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

/** The part of a text before this row, and the part in it. Rows are counted from 0. No character is cut in two. */
export function rowIn(text: string, row: number): readonly [before: string, shown: string] {
  const [from = 0, to] = [row, row + 1].map((each) => {
    const at = each * rowCharacters;
    return /^[\uDC00-\uDFFF]/.test(text.charAt(at)) ? at + 1 : at;
  });
  return [text.slice(0, from), text.slice(from, to)];
}

/** The numbers of the lines that have other lines indented under them, but are not themselves indented under a line. */
export function outermostFolds(lines: Lines): ReadonlySet<number> {
  const folds = new Set<number>();
  for (let place = 0; place < lines.length; place++) {
    if (!canFold(lines, place)) continue;
    folds.add((lines[place] as OutputLine).number);
    place = foldEnd(lines, place);
  }
  return folds;
}

/** Columns before the first character of a text; null if the text has none. */
export function indentOf(text: string): number | null {
  const [, blank = '', rest = ''] = /^([ \t]*)(.?)/.exec(text.replaceAll(COLOURS, '').trimEnd()) ?? [];
  return rest === '' ? null : blank.replaceAll('\t', '    ').length;
}
