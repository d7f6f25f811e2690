/**
 * The fixed program text that carries the state of a session. It is an input of each step, so the receipt has its digest. The
 * waiting interpreter of a cell runs this text if it is among the inputs. See `session/`.
 */
import { readFileSync } from 'node:fs';
import { type Language, SESSION_FILES } from '@vouchbox/protocol';
import { once } from '../../ground/once.ts';
import { LANGUAGE_RUNS, type LanguageRun } from '../program/language-runs.ts';

const NAMES: Readonly<Record<LanguageRun['guest'], string>> = {
  'launch.py': 'step.py',
  'launch.cjs': 'step.cjs',
  'launch.sh': 'step.pl',
};

const texts = new Map(
  Object.values(NAMES).map((name) => [
    name,
    once(() => readFileSync(new URL(`session/${name}`, import.meta.url)).toString('base64')),
  ]),
);

/** The module for programs in a language, as an input file. */
export function sessionModule(language: Language): { readonly path: string; readonly content_base64: string } {
  const name = NAMES[LANGUAGE_RUNS[language].guest];
  return { path: `${SESSION_FILES.inputs}/${name}`, content_base64: texts.get(name)?.() ?? '' };
}
