/** Piston's names for each of our languages: the main name, the aliases that callers use, and the program that runs it. */
import type { Language } from '@vouchbox/protocol/vocabulary';
import type { OfferedLanguage } from '../languages.ts';

interface PistonName {
  readonly language: string;
  readonly aliases: readonly string[];
  readonly runtime?: string;
}

const NAMES: Readonly<Record<Language, PistonName>> = {
  python: { language: 'python', aliases: ['py', 'py3', 'python3', 'python3.10'] },
  node: { language: 'javascript', aliases: ['node-javascript', 'node-js', 'js', 'node', 'nodejs'], runtime: 'node' },
  typescript: { language: 'typescript', aliases: ['ts', 'node-ts', 'tsc', 'typescript5'], runtime: 'node' },
  bash: { language: 'bash', aliases: ['sh'] },
  ruby: { language: 'ruby', aliases: ['ruby3', 'rb'] },
  php: { language: 'php', aliases: ['php8'] },
  lua: { language: 'lua', aliases: [] },
  r: { language: 'rscript', aliases: ['r'] },
  java: { language: 'java', aliases: [] },
  c: { language: 'c', aliases: ['gcc'], runtime: 'gcc' },
  cpp: { language: 'c++', aliases: ['cpp', 'g++'], runtime: 'gcc' },
};

export interface PistonRuntime extends PistonName {
  readonly version: string;
}

export function pistonRuntime({ language, version }: OfferedLanguage): PistonRuntime {
  return { ...NAMES[language], version };
}

/** A row of Piston's list of packages. Here, the list shows only installed packages. */
export function pistonPackage({ language, version }: OfferedLanguage) {
  return { language: NAMES[language].language, language_version: version, installed: true };
}

/** The language that a caller names; undefined if no offered language has this name. */
export function languageNamed(name: string, offered: readonly OfferedLanguage[]): OfferedLanguage | undefined {
  const wanted = name.toLowerCase();
  return offered.find(({ language }) => {
    const { language: own, aliases } = NAMES[language];
    return own === wanted || aliases.includes(wanted);
  });
}
