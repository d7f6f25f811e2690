import { expect, test } from 'vitest';
import { firstLineOf } from './first-line.ts';

test.each([
  ['print(1)\nprint(2)', 'print(1)'],
  ['#!/usr/bin/env python3\n\n  \t# what\tit does  \nx', '# what it does'],
  ['\r\n"""\r\n   Résumé\r\nx', 'Résumé'],
  ['/*\n * a plot\n */', '* a plot'],
  [`x = "${'a'.repeat(200)}"`, `x = "${'a'.repeat(115)}…`],
])('for a program that begins with %j, a list of jobs shows %j', (code, line) => {
  expect(firstLineOf(code)).toBe(line);
});

test('characters that would move a cursor, change the text direction or corrupt a store are escaped', () => {
  expect(firstLineOf('a\u001b[2Jb\u202ec\u0000d\ud800')).toBe('a\\u{1b}[2Jb\\u{202e}c\\u{0}d\\u{d800}');
});

test.each(['{\n}\n', ' \n\t\n', `${'-'.repeat(500_000)}\nlate`])(
  'a list of jobs shows no line of a program that says nothing at its beginning',
  (code) => {
    expect(firstLineOf(code)).toBeNull();
  },
);
