/** The operations on a program's tool calls, as rows of the table in `operations.ts`. */
import { json } from './answers.ts';
import { TOOL_LIMIT_CEILINGS, toolAnswerBodyBytesMax, toolTokensMax } from './limits.ts';
import type { OperationRow } from './operation.ts';
import { BODY_ERRORS, JOB_ERRORS } from './operation-errors.ts';
import { ToolCallsQuery } from './queries.ts';
import { ToolAnswer, ToolAnswerTaken, ToolCalls } from './tools.ts';

export const TOOL_OPERATIONS = {
  listToolCalls: {
    tag: 'jobs',
    summary: 'Read the calls of tools that nobody has answered, waiting for one if asked to.',
    description:
      'For whoever answers them: the principal that submitted the job, or one that the submission names. With ' +
      '`wait_seconds`, the answer comes as soon as there is a call after the cursor, or the job has ended, and with an empty ' +
      'page if neither happens in time. `next_cursor` is null once the job has ended. To find every open call again, leave ' +
      '`after` out.',
    access: 'jobs:submit',
    query: ToolCallsQuery,
    answers: { 200: json('Open calls in the order of their events.', ToolCalls) },
    errors: [...JOB_ERRORS, 'principal_not_allowed', 'tenant_capacity_exhausted', 'shutting_down'],
    capacity: ['connection', 'wait', 'response'],
  },
  answerToolCall: {
    tag: 'jobs',
    summary: 'Answer a call of a tool, by the number of its event.',
    description:
      'The answer is an event of the job, which names the principal, and is on disk before the program gets it. It is taken ' +
      'once: the same answer again is answered as the first, and another is refused. A call that nobody answers ends with ' +
      'the job, by its wall limit at the latest.',
    access: 'jobs:submit',
    body: {
      schema: ToolAnswer,
      bytesMax: toolAnswerBodyBytesMax,
      smallerBound: `an answer may have call_bytes of the job's tool_limits, ${TOOL_LIMIT_CEILINGS.call_bytes} at most`,
      tokensMax: toolTokensMax,
      isOptional: false,
    },
    answers: { 200: json('The answer is stored.', ToolAnswerTaken) },
    errors: [
      ...JOB_ERRORS,
      ...BODY_ERRORS,
      'tool_call_not_found',
      'principal_not_allowed',
      'tool_call_answered',
      'job_terminal',
      'tool_result_misfit',
      'tenant_capacity_exhausted',
      'insufficient_storage',
      'shutting_down',
    ],
    capacity: ['connection', 'body'],
  },
} as const satisfies Record<string, OperationRow>;
