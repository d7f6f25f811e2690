/**
 * Sessions: steps that each begin with the files and values that the previous step left. A step is a job like any other. It gets
 * the session's state as inputs and leaves the new state as outputs.
 */
import { LANGUAGES } from './languages.ts';
import { SESSION_NAME } from './session-files.ts';
import { JobId, Timestamp } from './spellings.ts';
import { Closed, Nullable, type Static, Type } from './type.ts';

export const SessionName = Type.String({
  pattern: SESSION_NAME.source,
  description: 'Letters, digits, `.`, `_` and `-`; at most 64. A session belongs to the principal that began it.',
});

/** The member that makes a job a step of a session. */
export const SessionStep = Closed(
  {
    name: SessionName,
    after: Nullable(
      Type.String({
        pattern: '^[!-~]{1,128}$',
        description: 'The last step of the session, a job whose state this one begins with; null begins the session.',
      }),
    ),
  },
  {
    description:
      'A step of a session: the files of `/work` and the values that the step before left are loaded before the program, ' +
      'and kept after it if it succeeds. Not for compiled languages.',
  },
);
export type SessionStep = Static<typeof SessionStep>;

/** The state of a session. */
export const Session = Type.Object({
  name: Type.String(),
  language: Type.Enum([...LANGUAGES]),
  /** The job with whose state the next step begins. */
  last_job_id: Nullable(JobId),
  /** The step in progress; null if there is none. No other step is accepted until it ends. */
  running_job_id: Nullable(JobId),
  created_at: Timestamp,
  changed_at: Timestamp,
});
export type Session = Static<typeof Session>;

export const SessionList = Type.Object({ items: Type.Array(Session) });
export type SessionList = Static<typeof SessionList>;

export const SessionRemoval = Type.Object({ name: Type.String(), removed: Type.Literal(true) });
export type SessionRemoval = Static<typeof SessionRemoval>;
