/** Operations on the lines of a log: search them, and fold those that are indented under another. */
import type { OutputLine } from './job-history.ts';

type Text = Pick<OutputLine, 'text'>;
type Numbered = Pick<OutputLine, 'text' | 'number'>;

const COLOURS = new RegExp(`${String.fromCharCode(0x1b)}\\[[\\d;]*m`, 'g');
/** A fold in a program's endless output is followed only this far. */
const foldLinesMax = 100_000;

/** The places of the lines that contain this text, in upper or lower case. Colours do not count as text. */
export function placesOf(lines: readonly Text[], sought: string): readonly number[] {
  if (sought === '') return [];
  const wanted = sought.toLowerCase();
  return lines.flatMap(({ text }, place) =>
    text.replaceAll(COLOURS, '').toLowerCase().includes(wanted) ? [place] : [],
  );
}

/** The last line that is indented under the one at a place; the place itself if none is. */
export function foldEnd(lines: readonly Text[], place: number): number {
  const own = indentOf(lines[place]);
  let end = place;
  if (own === null) return end;
  for (let next = place + 1; next < lines.length && next - place < foldLinesMax; next++) {
    const indent = indentOf(lines[next]);
    if (indent !== null && indent <= own) break;
    if (indent !== null) end = next;
  }
  return end;
}

/** Whether lines are indented under the one at a place. */
export function canFold(lines: readonly Text[], place: number): boolean {
  const own = indentOf(lines[place]);
  const next = indentOf(lines[place + 1]);
  return own !== null && next !== null && next > own;
}

/** The places that are shown if the lines of these numbers are folded; null if all are. */
export function shownPlaces(lines: readonly Numbered[], folded: ReadonlySet<number>): readonly number[] | null {
  if (folded.size === 0) return null;
  const places: number[] = [];
  for (let place = 0; place < lines.length; place++) {
    places.push(place);
    if (folded.has((lines[place] as Numbered).number)) place = foldEnd(lines, place);
  }
  return places;
}

/** The numbers of the lines under which others are indented, but not of those that are under another. */
export function outermostFolds(lines: readonly Numbered[]): ReadonlySet<number> {
  const folds = new Set<number>();
  for (let place = 0; place < lines.length; place++) {
    if (!canFold(lines, place)) continue;
    folds.add((lines[place] as Numbered).number);
    place = foldEnd(lines, place);
  }
  return folds;
}

/** Columns before the first character of a line; null if it has none. */
function indentOf(line: Text | undefined): number | null {
  const [, blank = '', rest = ''] = /^([ \t]*)(.?)/.exec(line?.text.replaceAll(COLOURS, '').trimEnd() ?? '') ?? [];
  return rest === '' ? null : blank.replaceAll('\t', '    ').length;
}
