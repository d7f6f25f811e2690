/** Judge0's numbers for languages. Several numbers may stand for versions of one language; each runs the offered one. */
import type { Language } from '@vouchbox/protocol/vocabulary';
import type { OfferedLanguage } from '../languages.ts';

/** Each language's numbers. Judge0's lists show the first one. */
const NUMBERS: Readonly<Record<Language, readonly number[]>> = {
  python: [71, 92, 100, 109, 113],
  node: [63, 93, 97, 102],
  typescript: [74, 94, 101],
  bash: [46],
  ruby: [72],
  php: [68, 98],
  lua: [64],
  r: [80, 99],
  java: [62, 91],
  c: [50, 48, 49, 75, 103, 104, 110],
  cpp: [54, 52, 53, 76, 105],
};

const NAMES: Readonly<Record<Language, string>> = {
  python: 'Python',
  node: 'JavaScript (Node.js',
  typescript: 'TypeScript (Node.js',
  bash: 'Bash',
  ruby: 'Ruby',
  php: 'PHP',
  lua: 'Lua',
  r: 'R',
  java: 'Java',
  c: 'C (GCC',
  cpp: 'C++ (GCC',
};

/** The number that the list shows for a language. */
export function usualNumber(language: Language): number {
  const [id = 0] = NUMBERS[language];
  return id;
}

/** The number of a language, and its name with its version, such as `Python (3.11.2)`. */
export function judge0Language({ language, version }: OfferedLanguage) {
  const name = NAMES[language];
  return { id: usualNumber(language), name: name.includes('(') ? `${name} ${version})` : `${name} (${version})` };
}

/** The language that has this number; undefined if no offered language has it. */
export function languageOfNumber(number: number, offered: readonly OfferedLanguage[]): OfferedLanguage | undefined {
  return offered.find(({ language }) => NUMBERS[language].includes(number));
}
