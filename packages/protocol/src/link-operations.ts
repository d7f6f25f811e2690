/** The operations on links, as rows of the table in `operations.ts`. */
import { json } from './answers.ts';
import { linkBodyBytesMax } from './limits.ts';
import { LinkList, LinkRequest, LinkRevocation, NewLink } from './links.ts';
import type { OperationRow } from './operation.ts';
import { BODY_ERRORS, JOB_ERRORS } from './operation-errors.ts';

export const LINK_OPERATIONS = {
  createLink: {
    tag: 'jobs',
    summary: 'Make a link, with which anyone reads the result of the job without a credential.',
    description:
      'Only the principal that submitted the job makes one, and only where the operator allows it. The link is told once. It ' +
      'ends by its time, with the credential that made it, with the job, or when somebody revokes it.',
    access: 'jobs:read',
    body: { schema: LinkRequest, bytesMax: linkBodyBytesMax, isOptional: false },
    answers: { 201: json('The link is there.', NewLink) },
    errors: [
      ...JOB_ERRORS,
      ...BODY_ERRORS,
      'links_disabled',
      'principal_not_allowed',
      'tenant_capacity_exhausted',
      'insufficient_storage',
      'shutting_down',
    ],
    capacity: ['connection', 'body'],
  },
  listLinks: {
    tag: 'jobs',
    summary: 'List the links to a job that have not ended, the oldest first.',
    access: 'jobs:read',
    answers: { 200: json('All of them, without their secrets.', LinkList) },
    errors: JOB_ERRORS,
    capacity: ['connection'],
  },
  revokeLink: {
    tag: 'jobs',
    summary: 'End a link now.',
    description: 'Any caller who may read the job may end its links.',
    access: 'jobs:read',
    answers: { 200: json('It is ended.', LinkRevocation) },
    errors: [...JOB_ERRORS, 'link_not_found', 'insufficient_storage'],
    capacity: ['connection'],
  },
} as const satisfies Record<'createLink' | 'listLinks' | 'revokeLink', OperationRow>;
