/**
 * Compares an output with the expected one as the judge does (`grading-judge.ts`). A running grading uses this comparison to know
 * when a group stops. The verdict depends only on the judge's own comparison.
 */
import type { Comparing, FloatTolerance } from './grading-record.ts';

/** Only ASCII characters count as white space: space, tab, line feed, vertical tab, form feed and carriage return. */
const WHITE = /[ \t\n\v\f\r]+/;
const WHITE_AT_END = /[ \t\n\v\f\r]$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
/** The most characters that a number may have. A longer number is compared as a word. */
const numberCharsMax = 1000;

export function areAlike(output: string, expected: string, compare: Comparing): boolean {
  if (compare === 'exact') return output === expected;
  if (compare === 'lines') return linesOf(output) === linesOf(expected);
  const [words, wanted] = [wordsOf(output), wordsOf(expected)];
  if (words.length !== wanted.length) return false;
  const floats = compare === 'words' ? null : compare.floats;
  return words.every((word, at) => word === wanted[at] || (floats !== null && areNear(word, wanted[at] ?? '', floats)));
}

function linesOf(text: string): string {
  return withoutEnd(text).split('\n').map(withoutEnd).join('\n');
}

function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && WHITE_AT_END.test(text[end - 1] as string)) end -= 1;
  return text.slice(0, end);
}

function wordsOf(text: string): readonly string[] {
  return text.split(WHITE).filter((word) => word !== '');
}

function areNear(word: string, wanted: string, { absolute = 0, relative = 0 }: FloatTolerance): boolean {
  if (!isNumber(word) || !isNumber(wanted)) return false;
  const [said, meant] = [Number(word), Number(wanted)];
  const off = Math.abs(said - meant);
  return Number.isFinite(off) && (off <= absolute || off <= relative * Math.abs(meant));
}

function isNumber(word: string): boolean {
  return word.length <= numberCharsMax && NUMBER.test(word);
}
