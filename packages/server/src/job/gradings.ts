/** Everything that a caller can do with gradings. Another tenant's grading looks the same as an unknown one. */
import type { FilledQueryOf, GradingCancellation, GradingDetail, GradingEvents, GradingList } from '@vouchbox/protocol';
import type { Caller } from '../ground/caller.ts';
import { answered } from './answered.ts';
import {
  cancelGrading,
  gradingDetail,
  gradingEvents,
  listGradings,
  type ReadGradingOptions,
} from './grade/read-gradings.ts';
import { type SubmitGradingOptions, type SubmittedGrading, submitGrading } from './grade/submit-grading.ts';
import type { Wait } from './history.ts';
import type { Submission } from './jobs.ts';

export interface Gradings {
  /** Checks and stores a grading. Durable when it resolves. */
  submit(caller: Caller, submission: Submission): Promise<SubmittedGrading>;
  list(caller: Caller, query: FilledQueryOf<'listGradings'>): Promise<GradingList>;
  /** May wait for the grading's end. The signal ends the wait early, with the present state. */
  detail(caller: Caller, grading_id: string, wait: Wait): Promise<GradingDetail>;
  cancel(caller: Caller, grading_id: string): Promise<GradingCancellation>;
  /** May wait for an event after the cursor. The signal ends the wait early, with an empty page. */
  events(caller: Caller, grading_id: string, page: Wait & { after: number; limit: number }): Promise<GradingEvents>;
}

export type GradingsOptions = SubmitGradingOptions & ReadGradingOptions;

export function createGradings(options: GradingsOptions): Gradings {
  return {
    submit: (caller, submission) => answered(submitGrading(caller, submission, options)),
    list: ({ tenant }, query) => answered(listGradings(tenant, query, options)),
    detail: ({ tenant }, grading_id, wait) => answered(gradingDetail({ tenant, grading_id }, wait, options)),
    cancel: ({ tenant }, grading_id) => answered(cancelGrading({ tenant, grading_id }, options)),
    events: ({ tenant }, grading_id, page) => answered(gradingEvents({ tenant, grading_id }, page, options)),
  };
}
