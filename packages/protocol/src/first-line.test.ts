import { expect, test } from 'vitest';
import { firstLineOf } from './first-line.ts';

test.each([
  ['print(1)\nprint(2)', 'print(1)'],
  ['#!/usr/bin/env python3\n\n  \t# what\tit does  \nx', '# what it does'],
  ['\r\n"""\r\n   Résumé\r\nx', 'Résumé'],
  ['/*\n * a plot\n */', '* a plot'],
  [`x = "${'a'.repeat(200)}"`, `x = "${'a'.repeat(115)}…`],
])('a list of jobs shows a program that begins with %j as %j', (code, line) => {
  expect(firstLineOf(code)).toBe(line);
});

test('a list of jobs escapes characters that move a cursor, change the text direction or corrupt a store', () => {
  expect(firstLineOf('a\u001b[2Jb\u202ec\u0000d\ud800')).toBe('a\\u{1b}[2Jb\\u{202e}c\\u{0}d\\u{d800}');
});

test.each(['{\n}\n', ' \n\t\n', `${'-'.repeat(500_000)}\nlate`])(
  'a list of jobs shows no line for a program whose beginning has no words',
  (code) => {
    expect(firstLineOf(code)).toBeNull();
  },
);
