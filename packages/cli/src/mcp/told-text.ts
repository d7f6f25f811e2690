/**
 * Text for a model, in which a program's output cannot pass for the tool's own words. The output is between two lines that have a
 * random word, which no program can know, and terminal sequences are escaped. A long text is cut in the middle, so that a model
 * sees how it begins and how it ends.
 */
import { randomBytes } from 'node:crypto';
import { printable, printableText } from '@vouchbox/protocol/vocabulary';

const valueCharsMax = 4096;

/** Makes a value that comes from outside of this command safe as a part of one line. */
export function told(value: string): string {
  return printable(value, valueCharsMax);
}

/** One stream of a program, under the stream's name; empty if the program wrote nothing to it. */
export function toldStream(name: string, text: string, leftOut: number): string {
  return toldBetween(`${name} of the program`, text, leftOut);
}

/** The output of a program, under a title; empty if there is none. */
export function toldBetween(title: string, text: string, leftOut: number): string {
  if (text === '') return '';
  const word = randomBytes(8).toString('hex');
  const cut = leftOut === 0 ? '' : `; ${leftOut} characters are left out in its middle`;
  const end = text.endsWith('\n') ? '' : '\n';
  return `${title}, between two lines ${word}${cut}:\n${word}\n${printableText(text)}${end}${word}`;
}

/** The most UTF-16 code units that a model is shown of one output stream. */
const shownCharsMax = 16 * 1024;

const HEAD_PART = 0.5;

export interface CutText {
  readonly text: string;
  /** How many code units were left out; 0 if none. */
  readonly leftOut: number;
}

/** The text itself, or its head and its tail. A line between the two says how much is left out. */
export function cutText(text: string, charsMax = shownCharsMax): CutText {
  if (text.length <= charsMax) return { text, leftOut: 0 };
  const head = whole(text.slice(0, Math.floor(charsMax * HEAD_PART)));
  const tail = whole(text.slice(text.length - (charsMax - head.length)));
  const leftOut = text.length - head.length - tail.length;
  return { text: `${head}\n[${leftOut} characters left out]\n${tail}`, leftOut };
}

/** The text without a lone surrogate (half a character) at its start or end. */
function whole(text: string): string {
  const start = /^[\uDC00-\uDFFF]/.test(text) ? 1 : 0;
  const end = /[\uD800-\uDBFF]$/.test(text) ? text.length - 1 : text.length;
  return text.slice(start, end);
}
