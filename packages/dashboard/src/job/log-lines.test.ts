import { describe, expect, test } from 'vitest';
import {
  canFold,
  foldEnd,
  indentOf,
  logText,
  type OutputLine,
  outermostFolds,
  rowIn,
  rowsOf,
  searchFor,
} from './log-lines.ts';

const lineOf = (text: string, number: number, isEnded = true): OutputLine => {
  return { seq: number, at: '', number, stream: 'stdout', text, isEnded, colour: '', indent: indentOf(text) };
};
const linesOf = (text: string) => text.split('\n').map((line, place) => lineOf(line, place + 1));
const traceback = linesOf('Traceback\n  File "a"\n    call()\n\n  File "b"\nValueError\ndone');

describe('the log of a job in the browser', () => {
  test('is searched regardless of case and colours', () => {
    const lines = linesOf('one\n\u001b[31mO\u001b[0mNE\ntwo');
    expect(searchFor('one')(lines)).toEqual([1, 2]);
    expect(searchFor('')(lines)).toEqual([]);
  });

  test('is searched while it grows, and a line is searched again only if it has grown', () => {
    const read: number[] = [];
    const counted = (text: string, number: number) => {
      const line = lineOf(text, number);
      const get = () => {
        read.push(number);
        return text;
      };
      return Object.defineProperty(line, 'text', { get });
    };
    const lines = [counted('one', 1), counted('on', 2), counted('one', 3)];
    const search = searchFor('one');
    expect(search(lines)).toEqual([1, 3]);
    lines[1] = counted('only one', 2);
    lines.push(counted('two', 4));
    expect(search(lines)).toEqual([1, 2, 3]);
    expect(read).toEqual([1, 2, 3, 2, 4]);
    expect([canFold(lines, 0), foldEnd(lines, 0), read.length]).toEqual([false, 0, 5]);
  });

  test('folds indented and blank lines under the previous line', () => {
    expect([canFold(traceback, 0), canFold(traceback, 5), canFold(traceback, 6)]).toEqual([true, false, false]);
    expect([foldEnd(traceback, 0), foldEnd(traceback, 1), foldEnd(traceback, 5)]).toEqual([4, 2, 5]);
    expect(rowsOf(traceback, new Set([1]))).toEqual([0, 5, 6]);
    expect(rowsOf(traceback, new Set())).toBeNull();
  });

  test('is folded as a whole at each line that has lines indented under it and is not indented under another line', () => {
    expect([...outermostFolds(traceback)]).toEqual([1]);
  });

  test('splits a long line into rows, but never inside a character', () => {
    const text = `${'x'.repeat(16_383)}\u{1f600}end`;
    expect([rowIn(text, 0), rowIn(text, 1)]).toEqual([
      ['', `${'x'.repeat(16_383)}\u{1f600}`],
      [`${'x'.repeat(16_383)}\u{1f600}`, 'end'],
    ]);
  });

  test.each([
    [16_384, null],
    [16_385, [0, 0, 1]],
    [40_000, [0, 0, 0, 1]],
  ])('shows a line of %s characters in rows of 16,384 characters', (characters, rows) => {
    expect(rowsOf([lineOf('x'.repeat(characters), 1), lineOf('', 2)], new Set())).toEqual(rows);
  });

  test('is copied and saved as it was written, with or without a last newline', () => {
    const lines = linesOf('one\n\ntwo');
    expect(logText([])).toBe('');
    expect(logText(lines)).toBe('one\n\ntwo\n');
    expect(logText([...lines, lineOf('three', 4, false)])).toBe('one\n\ntwo\nthree');
  });
});
