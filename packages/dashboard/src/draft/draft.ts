/**
 * The input of the playground. It is kept in memory until the person signs out: another view, another key or a lost service does
 * not discard it. It is in no storage, because programs, variables and input can hold secrets. The browser asks before a reload
 * discards it.
 */
import type { JobSubmission } from '@vouchbox/client';
import { kept } from '../kept.ts';
import { type Draft, draftOf } from './draft-submission.ts';
import { sampleOf } from './samples.ts';

const NO_LIMITS: Draft['limits'] = {
  wall_seconds: null,
  cpu_seconds: null,
  mem_mb: null,
  max_pids: null,
  max_file_mb: null,
};

const EMPTY: Draft = {
  language: 'python',
  code: sampleOf('python'),
  stdin: '',
  namedStdin: null,
  args: '',
  env: '',
  outputs: 'output/**',
  large: '',
  stdout: '',
  files: [],
  runtime: null,
  minimum_isolation: null,
  enforced: [],
  reproducible: false,
  limits: NO_LIMITS,
  tools: [],
  toolTerms: {},
};

const draft = kept(EMPTY);
export const useDraft = draft.use;
/** The last job that was made from the draft. */
export const ran = kept<string | null>(null);

export function editDraft(edit: Partial<Draft>): void {
  draft.set({ ...draft.get(), ...edit });
}

export function forgetDraft(): void {
  draft.set(EMPTY);
}

/** Another language brings its sample, unless something other than a sample was typed. */
export function chooseLanguage(language: string): void {
  const before = draft.get();
  const isSample = before.code === '' || before.code === sampleOf(before.language);
  editDraft({ language, ...(isSample && { code: sampleOf(language) }), runtime: null });
}

/** Replaces the draft with a submission. */
export function openDraft(submission: JobSubmission): void {
  draft.set(draftOf(submission));
}

/** Whether something would be lost by a reload. */
function hasTyped(): boolean {
  const { code, language } = draft.get();
  return draft.get() !== EMPTY && code !== sampleOf(language);
}

window.addEventListener('beforeunload', (event) => {
  if (hasTyped()) event.preventDefault();
});
