/** The operations on gradings, as rows of the table in `operations.ts`. */
import { json } from './answers.ts';
import type { GradingOperationId } from './endpoints.ts';
import {
  GradingAnswer,
  GradingCancellation,
  GradingDetail,
  GradingEvents,
  GradingList,
  GradingSubmission,
} from './gradings.ts';
import { bodyBytesMax, gradingTokensMax } from './limits.ts';
import type { OperationRow } from './operation.ts';
import { ADMISSION_ERRORS, GRADING_ERRORS, SCOPED_ERRORS } from './operation-errors.ts';
import { GradingHeaders, GradingListQuery, GradingQuery, ReplayQuery } from './queries.ts';

export const GRADING_OPERATIONS = {
  submitGrading: {
    tag: 'gradings',
    summary: 'Grade programs against tests.',
    description:
      'Every program runs against every test, each run as a job of its own, and a last job of each program judges. The ' +
      'grading is on disk before the answer comes, and goes on when the service starts again. A request that is sent again with its `Idempotency-Key` is answered with the first grading.',
    access: 'jobs:submit',
    alsoAccess: 'jobs:read',
    headers: GradingHeaders,
    body: { schema: GradingSubmission, bytesMax: bodyBytesMax, tokensMax: gradingTokensMax, isOptional: false },
    answers: {
      201: {
        ...json('The grading is stored, now or by the first use of the key.', GradingAnswer),
        headers: ['Location', 'Idempotency-Replayed'],
      },
    },
    errors: ADMISSION_ERRORS,
    capacity: ['connection', 'body', 'queue'],
  },
  listGradings: {
    tag: 'gradings',
    summary: "List the tenant's gradings, newest first.",
    access: 'jobs:read',
    query: GradingListQuery,
    answers: { 200: json('A page of gradings.', GradingList) },
    errors: SCOPED_ERRORS,
    capacity: ['connection'],
  },
  getGrading: {
    tag: 'gradings',
    summary: 'Read a grading, waiting for its end if asked to.',
    description: 'If it has not ended when the wait is over, the answer has the programs that were judged so far.',
    access: 'jobs:read',
    query: GradingQuery,
    answers: { 200: json('The grading as it stands.', GradingDetail) },
    errors: [...GRADING_ERRORS, 'tenant_capacity_exhausted', 'shutting_down'],
    capacity: ['connection', 'wait', 'response'],
  },
  cancelGrading: {
    tag: 'gradings',
    summary: 'Ask for the end of a grading.',
    description: 'No further job is made, and those that have not ended are cancelled. It may be sent again.',
    access: 'jobs:cancel',
    answers: { 200: json('The grading as it stands now.', GradingCancellation) },
    errors: [...GRADING_ERRORS, 'insufficient_storage'],
    capacity: ['connection'],
  },
  gradingEvents: {
    tag: 'gradings',
    summary: 'Read what happened in a grading, in sequence order.',
    description:
      'One event for each job that ended, one for each program that was judged, and a last one. `next_cursor` is as in ' +
      'replay. With `wait_seconds`, the answer comes as soon as there is an event after the cursor.',
    access: 'jobs:read',
    query: ReplayQuery,
    answers: { 200: json('A page of events.', GradingEvents) },
    errors: [...GRADING_ERRORS, 'tenant_capacity_exhausted', 'shutting_down'],
    capacity: ['connection', 'wait', 'response'],
  },
} as const satisfies Record<GradingOperationId | 'submitGrading' | 'listGradings', OperationRow>;
