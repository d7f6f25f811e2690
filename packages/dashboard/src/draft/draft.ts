/**
 * The playground's input. It is kept in memory until the person signs out: another view, another key or a lost service does not
 * discard it. It is not kept in the browser's storage, because programs, variables and input can hold secrets. The browser asks
 * before a reload discards it.
 */
import type { JobSubmission } from '@vouchbox/client';
import { kept } from '../kept.ts';
import { type Draft, draftOf } from './draft-submission.ts';
import { sampleOf } from './samples.ts';

/** The files that come back unless the person requests others. */
export const usualOutputs = 'output/**';

const draft = kept(emptyDraft('python'));
export const useDraft = draft.use;
/** The last job that was made from the draft. */
export const ran = kept<string | null>(null);

export function editDraft(edit: Partial<Draft> | ((before: Draft) => Partial<Draft>)): void {
  const before = draft.get();
  draft.set({ ...before, ...(typeof edit === 'function' ? edit(before) : edit) });
}

export function forgetDraft(): void {
  draft.set(emptyDraft('python'));
}

function emptyDraft(language: string): Draft {
  return draftOf({ language, code: sampleOf(language), outputs: [usualOutputs] });
}

/** Chooses another language, and shows its sample unless something other than a sample was typed. */
export function chooseLanguage(language: string): void {
  const before = draft.get();
  const isSample = before.code === '' || before.code === sampleOf(before.language);
  editDraft({ language, ...(isSample && { code: sampleOf(language) }), runtime: null });
}

/** Replaces the draft with a submission. */
export function openDraft(submission: JobSubmission): void {
  draft.set(draftOf(submission));
}

/** Whether a reload would discard any input. */
function hasTyped(): boolean {
  const present = draft.get();
  return JSON.stringify(present) !== JSON.stringify(emptyDraft(present.language));
}

window.addEventListener('beforeunload', (event) => {
  if (hasTyped()) event.preventDefault();
});
