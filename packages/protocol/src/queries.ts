/** The parameters that operations take in the query and in headers, after decoding. Spec § Endpoints. */

import {
  cursorCharsMax,
  idempotencyKeyBytesMax,
  labelCharsMax,
  listLimitDefault,
  listLimitMax,
  replayLimitDefault,
  replayLimitMax,
  ticketCharsMax,
  waitSecondsMax,
} from './limits.ts';
import { JOB_STATUSES } from './status.ts';
import { LanguageName } from './submission.ts';
import { type Static, type TObject, type TOptional, type TSchema, Type } from './type.ts';

/** Visible ASCII text that a client sends back exactly as it was received. */
function opaque(maxLength: number) {
  return { minLength: 1, maxLength, pattern: '^[\\x21-\\x7e]+$' };
}

/** A parameter that may be left out, and its default. */
type WithDefault<S extends TSchema> = TOptional<S> & { readonly default: Static<S> };

function withDefault<S extends TSchema>(value: Static<S>, schema: S): WithDefault<S> {
  return Type.Optional({ ...schema, default: value }) as WithDefault<S>;
}

function perPage(items: string, usual: number, maximum: number) {
  return withDefault(usual, Type.Integer({ minimum: 1, maximum, description: `${items} per page.` }));
}

type NamesWithDefault<T extends TObject> = {
  [Name in keyof T['properties']]: T['properties'][Name] extends { readonly default: unknown } ? Name : never;
}[keyof T['properties']];

/** The values of a query with its defaults filled in. */
export type Filled<T extends TObject> = Static<T> & Required<Pick<Static<T>, NamesWithDefault<T> & keyof Static<T>>>;

/** `status` is one comma-separated parameter. */
export const ListQuery = Type.Object({
  limit: perPage('Jobs', listLimitDefault, listLimitMax),
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
  label: Type.Optional(
    Type.String({ minLength: 1, maxLength: labelCharsMax, description: 'Only jobs that have this label.' }),
  ),
});

/**
 * A parameter in seconds. `whatFor` completes "Seconds to wait for", and `note` adds whole sentences. Fractions and
 * exponents are accepted, because languages print numbers with them.
 */
function waitSeconds(whatFor: string, note = '') {
  return withDefault(
    0,
    Type.Number({
      minimum: 0,
      maximum: waitSecondsMax,
      description: `Seconds to wait for ${whatFor}.${note}`,
    }),
  );
}

/** The optional members of the answer to a submission. Each word requests the member with that name. */
export const SUBMISSION_INCLUDES = ['receipt', 'detail', 'history', 'promise', 'stream_ticket'] as const;

export const SubmissionQuery = Type.Object({
  wait_seconds: waitSeconds('the end of the job once it is stored', ' More than 0 needs the scope `jobs:read` too.'),
  include: withDefault(
    [],
    Type.Array(Type.Enum([...SUBMISSION_INCLUDES]), {
      minItems: 1,
      description:
        'Further members of the answer. `receipt`, `detail` and `history` (all events) come only with a `result`; `promise` ' +
        'comes if it is signed in time; `stream_ticket` opens the job’s stream. Needs the scope `jobs:read` too.',
    }),
  ),
});

export const ResultQuery = Type.Object({ wait_seconds: waitSeconds('the end of the job') });

const after = withDefault(
  0,
  Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Only events with a greater `seq`: the cursor is exclusive.',
  }),
);

/** A parameter for the job's outcome, which a reader gets after the job's last event. */
function lastParts(description: string) {
  return withDefault([], Type.Array(Type.Enum(['result', 'receipt']), { minItems: 1, description }));
}

export const PromiseQuery = Type.Object({ wait_seconds: waitSeconds('the signature, if the promise has none yet') });

export const ReplayQuery = Type.Object({
  after,
  limit: perPage('Events', replayLimitDefault, replayLimitMax),
  wait_seconds: waitSeconds('an event after the cursor, if there is none yet'),
  include: lastParts('What the page with the last event is to have beside it; other pages have none of it.'),
});

export const ToolCallsQuery = Type.Object({
  after,
  wait_seconds: waitSeconds('a call that nobody has answered', ' It is over once the job has ended.'),
});

export const GradingQuery = Type.Object({ wait_seconds: waitSeconds('the end of the grading') });

export const GradingListQuery = Type.Object({
  limit: perPage('Gradings', listLimitDefault, listLimitMax),
  cursor: ListQuery.properties.cursor,
});

export const StreamQuery = Type.Object({
  ticket: Type.Optional(
    Type.String({
      ...opaque(ticketCharsMax),
      description: 'A one-use ticket of this job, in place of the `Authorization` header.',
    }),
  ),
  after,
  include: lastParts('What the last frame has, once the job ended; if this is left out, no last frame comes.'),
});

function keyHeader(description: string) {
  return Type.Optional(
    Type.String({ minLength: 1, maxLength: idempotencyKeyBytesMax, pattern: '^[\\x21-\\x7e]+$', description }),
  );
}

export const SubmissionHeaders = Type.Object({
  'Idempotency-Key': keyHeader(
    'A name for this submission, of your choice; at most one such header. It belongs to the tenant. Another submission ' +
      'under the same key is refused. They are compared with their defaults filled in, and with the limits as asked for.',
  ),
});

export const GradingHeaders = Type.Object({
  'Idempotency-Key': keyHeader(
    'A name for this grading, of your choice; at most one such header. It belongs to the tenant, apart from the keys of ' +
      'jobs. Another grading under the same key is refused. They are compared with their defaults filled in.',
  ),
});
