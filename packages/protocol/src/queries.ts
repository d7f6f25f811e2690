/** The parameters of operations in the query and in headers, after decoding. Spec § Endpoints. */

import {
  cursorCharsMax,
  idempotencyKeyBytesMax,
  listLimitDefault,
  listLimitMax,
  replayLimitDefault,
  replayLimitMax,
  ticketCharsMax,
  waitSecondsMax,
} from './limits.ts';
import { JOB_STATUSES } from './status.ts';
import { LanguageName } from './submission.ts';
import { type Static, Type } from './type.ts';

/** Visible ASCII text that a client returns exactly as it got it. */
function opaque(maxLength: number) {
  return { minLength: 1, maxLength, pattern: '^[\\x21-\\x7e]+$' };
}

/** `status` is one comma-separated parameter. */
export const ListQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: listLimitMax, default: listLimitDefault, description: 'Jobs per page.' }),
  ),
  cursor: Type.Optional(
    Type.String({
      ...opaque(cursorCharsMax),
      description: 'The `next_cursor` of the page before, unchanged. Bound to the tenant.',
    }),
  ),
  status: Type.Optional(
    Type.Array(Type.Enum([...JOB_STATUSES]), { minItems: 1, description: 'Only jobs in one of these statuses.' }),
  ),
  language: Type.Optional(LanguageName),
});
export type ListQuery = Static<typeof ListQuery>;

export const ResultQuery = Type.Object({
  wait_seconds: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: waitSecondsMax,
      default: 0,
      description: 'Seconds to wait for a terminal status: any number, in decimal digits or with an exponent.',
    }),
  ),
});
export type ResultQuery = Static<typeof ResultQuery>;

const after = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    default: 0,
    description: 'Only events with a greater `seq`: the cursor is exclusive.',
  }),
);

export const ReplayQuery = Type.Object({
  after,
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: replayLimitMax, default: replayLimitDefault, description: 'Events per page.' }),
  ),
});
export type ReplayQuery = Static<typeof ReplayQuery>;

export const StreamQuery = Type.Object({
  ticket: Type.Optional(
    Type.String({
      ...opaque(ticketCharsMax),
      description: 'A one-use ticket of this job, in place of the `Authorization` header.',
    }),
  ),
  after,
});
export type StreamQuery = Static<typeof StreamQuery>;

export const SubmissionHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: idempotencyKeyBytesMax,
      pattern: '^[\\x21-\\x7e]+$',
      description:
        'Visible ASCII, scoped to the tenant; at most one such header. Two submissions are the same where they are with ' +
        'their defaults filled in and their limits as asked for, before ceilings.',
    }),
  ),
});
export type SubmissionHeaders = Static<typeof SubmissionHeaders>;
