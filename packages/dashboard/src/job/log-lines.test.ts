import { describe, expect, test } from 'vitest';
import { canFold, foldEnd, outermostFolds, placesOf, shownPlaces } from './log-lines.ts';

const linesOf = (text: string) => text.split('\n').map((line, place) => ({ text: line, number: place + 1 }));
const traceback = linesOf('Traceback\n  File "a"\n    call()\n\n  File "b"\nValueError\ndone');

describe('a log', () => {
  test('is searched without regard to case and colours', () => {
    const lines = linesOf('one\n\u001b[31mO\u001b[0mNE\ntwo');
    expect(placesOf(lines, 'one')).toEqual([0, 1]);
    expect(placesOf(lines, '')).toEqual([]);
  });

  test('folds indented lines under the line before, including blank lines', () => {
    expect([canFold(traceback, 0), canFold(traceback, 5), canFold(traceback, 6)]).toEqual([true, false, false]);
    expect([foldEnd(traceback, 0), foldEnd(traceback, 1), foldEnd(traceback, 5)]).toEqual([4, 2, 5]);
    expect(shownPlaces(traceback, new Set([1]))).toEqual([0, 5, 6]);
    expect(shownPlaces(traceback, new Set())).toBeNull();
  });

  test('folds at first only lines below one that is not indented', () => {
    expect([...outermostFolds(traceback)]).toEqual([1]);
  });
});
