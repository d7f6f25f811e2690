/** Gradings for tests of the HTTP side. */
import type { GradingDetail, SubmissionAnswer } from '@vouchbox/protocol';
import { ServiceError } from '../ground/service-error.ts';
import type { Gradings } from '../job/gradings.ts';

/** The gradings of acme: a single one, which has ended. */
export function memoryGradings({ created_at }: Pick<SubmissionAnswer, 'created_at'>): Gradings {
  const grading = (grading_id: string): GradingDetail => {
    if (grading_id !== 'grading_x') throw new ServiceError('grading_not_found', 'No such grading.');
    const counts = { programs: 1, tests: 1, runs: 1, runs_ended: 1, graded: [] };
    const end = { finished_at: created_at, cancellation_requested: false };
    return { grading_id, status: 'finished', created_at, ...end, ...counts };
  };
  return {
    submit: async () => ({
      answer: { grading_id: 'grading_x', status: 'running', created_at, grading_url: '/', events_url: '/' },
      replayed: false,
    }),
    list: async () => ({ items: [], next_cursor: null }),
    detail: async (_caller, grading_id) => grading(grading_id),
    cancel: async (_caller, grading_id) => ({ ...grading(grading_id), already_terminal: true }),
    events: async (_caller, grading_id) => ({ items: [], next_cursor: grading(grading_id) && null }),
  };
}
