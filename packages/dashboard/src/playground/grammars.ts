/** How each language is coloured. These grammars read line by line, and are a tenth of the size of grammars that parse. */

import type { StreamParser } from '@codemirror/language';
import { c, clike, cpp, java } from '@codemirror/legacy-modes/mode/clike';
import { javascript, typescript } from '@codemirror/legacy-modes/mode/javascript';
import { lua } from '@codemirror/legacy-modes/mode/lua';
import { python } from '@codemirror/legacy-modes/mode/python';
import { r } from '@codemirror/legacy-modes/mode/r';
import { ruby } from '@codemirror/legacy-modes/mode/ruby';
import { shell } from '@codemirror/legacy-modes/mode/shell';
import type { Language } from '@vouchbox/protocol/vocabulary';

const PHP_KEYWORDS =
  'abstract and array as break case catch class clone const continue declare default do echo else elseif enum extends final ' +
  'finally fn for foreach function global if implements include instanceof interface match namespace new or print private ' +
  'protected public readonly require return static switch throw trait try use var while xor yield';

/** A record with a member for each word. */
function wordsOf(text: string): Record<string, boolean> {
  return Object.fromEntries(text.split(' ').map((word) => [word, true]));
}

export const GRAMMARS: Readonly<Record<string, StreamParser<unknown>>> = {
  python,
  node: javascript,
  typescript,
  bash: shell,
  ruby,
  php: clike({
    name: 'php',
    keywords: wordsOf(PHP_KEYWORDS),
    atoms: wordsOf('true false null TRUE FALSE NULL'),
    multiLineStrings: true,
  }),
  lua,
  r,
  java,
  c,
  cpp,
} satisfies Record<Language, StreamParser<unknown>>;
