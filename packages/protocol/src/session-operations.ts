/** The operations on sessions, as rows of the table in `operations.ts`. */
import { json } from './answers.ts';
import type { OperationRow } from './operation.ts';
import { SCOPED_ERRORS } from './operation-errors.ts';
import { Session, SessionList, SessionRemoval } from './sessions.ts';

export const SESSION_OPERATIONS = {
  listSessions: {
    tag: 'sessions',
    summary: "List the principal's sessions, by name.",
    access: 'jobs:read',
    answers: { 200: json('All of them.', SessionList) },
    errors: SCOPED_ERRORS,
    capacity: ['connection'],
  },
  getSession: {
    tag: 'sessions',
    summary: 'Read where a session stands.',
    access: 'jobs:read',
    answers: { 200: json('The session as it stands.', Session) },
    errors: [...SCOPED_ERRORS, 'session_not_found'],
    capacity: ['connection'],
  },
  removeSession: {
    tag: 'sessions',
    summary: 'Remove a session.',
    description: 'No job is removed: each step stays as long as other jobs do. Its name may be used anew.',
    access: 'jobs:submit',
    answers: { 200: json('It is removed.', SessionRemoval) },
    errors: [...SCOPED_ERRORS, 'session_not_found', 'insufficient_storage'],
    capacity: ['connection'],
  },
} as const satisfies Record<'listSessions' | 'getSession' | 'removeSession', OperationRow>;
