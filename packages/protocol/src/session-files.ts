/** The paths for the parts of a session's step, and which programs can be a step. */
import { isCompiled } from './build-options.ts';
import type { Language } from './languages.ts';

/** The paths of a step. No submission can place a file below the directory `inputs`. */
export const SESSION_FILES = {
  inputs: 'input/.session',
  state: 'input/.session/state',
  outputs: 'output/.session',
  newState: 'output/.session/state',
  kept: 'output/.session/kept.json',
} as const;

/** The name of a session. */
export const SESSION_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The most sessions that one principal may have. */
export const sessionsMax = 1000;

/** Whether programs of a language can be steps of a session. */
export function hasSessions(language: Language): boolean {
  return !isCompiled({ language });
}
