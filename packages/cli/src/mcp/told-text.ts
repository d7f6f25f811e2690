/**
 * Text for a model, in which what a program wrote cannot pass for the tool's own words. It stands between two lines of a
 * random word, which no program can know, and what acts on a terminal is escaped.
 */
import { randomBytes } from 'node:crypto';
import { printable, printableText } from '@vouchbox/protocol/vocabulary';

const valueCharsMax = 4096;

/** A value of others as a part of one line. */
export function told(value: string): string {
  return printable(value, valueCharsMax);
}

/** One stream of a program, under its name; empty if it wrote nothing. */
export function toldStream(name: string, text: string, leftOut: number): string {
  if (text === '') return '';
  const word = randomBytes(8).toString('hex');
  const cut = leftOut === 0 ? '' : `; ${leftOut} characters are left out in its middle`;
  const end = text.endsWith('\n') ? '' : '\n';
  return `${name} of the program, between two lines ${word}${cut}:\n${word}\n${printableText(text)}${end}${word}`;
}
