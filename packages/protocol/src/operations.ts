/**
 * Every operation of the service as data: its callers, its input, its answers and its refusals. Routes, clients and the OpenAPI
 * document are made from this table. It is typed, so a route compiles only if its operation lists everything that the route
 * holds, answers and reads. Spec § Endpoints.
 */

import { Bytes, json, metrics, NoMembers, OpenApiDocument, storedBytes } from './answers.ts';
import { StoredBlob } from './blob.ts';
import { ENDPOINTS, type OperationId } from './endpoints.ts';
import { EVIDENCE_OPERATIONS } from './evidence-operations.ts';
import { GRADING_OPERATIONS } from './grading-operations.ts';
import {
  AwaitedSubmission,
  CancellationAnswer,
  EndFrame,
  EndingPage,
  FoldedResult,
  JobDetail,
  JobList,
  StreamTicket,
} from './job.ts';
import { blobBytesMax, bodyBytesMax, emptyBodyBytesMax, submissionTokensMax } from './limits.ts';
import { LINK_OPERATIONS } from './link-operations.ts';
import { BLOB_MEDIA_TYPE } from './media-types.ts';
import type { Operation, OperationRow } from './operation.ts';
import {
  ADMISSION_ERRORS,
  BODY_ERRORS,
  CALLER_ERRORS,
  CREDENTIAL_ERRORS,
  JOB_ERRORS,
  REQUEST_ERRORS,
  SCOPED_ERRORS,
} from './operation-errors.ts';
import { ListQuery, ReplayQuery, ResultQuery, StreamQuery, SubmissionHeaders, SubmissionQuery } from './queries.ts';
import { Capabilities, Health, Readiness, ServiceStatus, Whoami } from './service.ts';
import { SESSION_OPERATIONS } from './session-operations.ts';
import { STREAM_CLOSE_MEANINGS, STREAM_CLOSES } from './stream.ts';
import { JobSubmission } from './submission.ts';
import { TOOL_OPERATIONS } from './tool-operations.ts';
import { AnswerRefused, StreamedToolAnswer } from './tools.ts';

const ROWS = {
  getHealth: {
    tag: 'public',
    summary: 'Say that the process is alive.',
    access: 'public',
    answers: { 200: json('The process answers.', Health) },
    errors: REQUEST_ERRORS,
    capacity: ['connection'],
  },
  getReadiness: {
    tag: 'public',
    summary: 'Say whether jobs would be taken now.',
    description: 'The answer is cached: asking often costs nothing and changes nothing.',
    access: 'public',
    answers: { 200: json('Process, store and provider are ready.', Readiness), 503: json('Not ready.', Readiness) },
    errors: REQUEST_ERRORS,
    capacity: ['connection'],
  },
  getContract: {
    tag: 'public',
    summary: 'Read this contract.',
    access: 'public',
    answers: { 200: json('An OpenAPI 3.1 document.', OpenApiDocument) },
    errors: REQUEST_ERRORS,
    capacity: ['connection'],
  },
  submitJob: {
    tag: 'jobs',
    summary: 'Submit a job.',
    description:
      'The job is on disk before the answer comes. With `wait_seconds`, the answer has the `result` if the job ended in ' +
      'time. Without `result`, the job is stored and goes on. With `include`, the answer has more, so that a caller need not ' +
      'ask again. A credential that may not read jobs is refused both, and no job is stored. A submission that is sent again with its `Idempotency-Key` is answered with the first job. If an ' +
      'answer was lost, send only such a submission again.',
    access: 'jobs:submit',
    headers: SubmissionHeaders,
    query: SubmissionQuery,
    queryAccess: { wait_seconds: 'jobs:read', include: 'jobs:read' },
    body: { schema: JobSubmission, bytesMax: bodyBytesMax, tokensMax: submissionTokensMax, isOptional: false },
    answers: {
      201: {
        ...json('The job is stored, now or by the first use of the key.', AwaitedSubmission),
        headers: ['Location', 'Idempotency-Replayed'],
      },
    },
    errors: [...ADMISSION_ERRORS, 'promise_not_offered', 'session_conflict'],
    capacity: ['connection', 'body', 'queue', 'wait', 'response'],
  },
  listJobs: {
    tag: 'jobs',
    summary: "List the tenant's jobs, newest first.",
    access: 'jobs:read',
    query: ListQuery,
    answers: { 200: json('A page of jobs.', JobList) },
    errors: SCOPED_ERRORS,
    capacity: ['connection'],
  },
  getJob: {
    tag: 'jobs',
    summary: 'Read a job in full, with its receipt once it ended.',
    description:
      'To wait for the end, use the result or the stream: asking here again and again spends the budget of requests.',
    access: 'jobs:read',
    answers: { 200: json('The job as it stands.', JobDetail) },
    errors: [...JOB_ERRORS, 'tenant_capacity_exhausted'],
    capacity: ['connection', 'response'],
  },
  cancelJob: {
    tag: 'jobs',
    summary: 'Ask for the end of a job.',
    description:
      'It may be sent again. A job that already ended stays as it ended, and `already_terminal` says so. It never waits ' +
      'for room, so that a full service can still be relieved.',
    access: 'jobs:cancel',
    answers: { 200: json('The job as it stands now.', CancellationAnswer) },
    errors: [...JOB_ERRORS, 'insufficient_storage'],
    capacity: ['connection'],
  },
  getResult: {
    tag: 'jobs',
    summary: 'Read the folded result, waiting for it if asked to.',
    description:
      'If the job has not ended when the wait is over, the answer has the present status and what is stored so far. If the ' +
      'service stops during the wait, the answer is `shutting_down`, and never a part of a result.',
    access: 'jobs:read',
    query: ResultQuery,
    answers: { 200: json('The result, or what there is of it.', FoldedResult) },
    errors: [...JOB_ERRORS, 'tenant_capacity_exhausted', 'shutting_down'],
    capacity: ['connection', 'wait', 'response'],
  },
  replayEvents: {
    tag: 'jobs',
    summary: 'Read a page of stored events, in sequence order.',
    description:
      'Nothing runs again. `next_cursor` is the last `seq` of the page, or `after` if the page is empty. It is null once ' +
      'the last event of the job was in a page. Move on only after you read a whole page. With `wait_seconds`, the answer ' +
      'comes as soon as there is an event after the cursor, and with an empty page if there is none in time. With ' +
      '`include`, the page whose `next_cursor` is null also has the `result` or the `receipt`.',
    access: 'jobs:read',
    query: ReplayQuery,
    answers: { 200: json('A page of events.', EndingPage) },
    errors: [...JOB_ERRORS, 'tenant_capacity_exhausted', 'shutting_down'],
    capacity: ['connection', 'wait', 'response'],
  },
  mintStreamTicket: {
    tag: 'jobs',
    summary: 'Mint a ticket that opens one stream of this job.',
    description:
      'It keeps the credential out of the address of the WebSocket. It is spent before the stream is admitted.',
    access: 'jobs:read',
    body: { schema: NoMembers, bytesMax: emptyBodyBytesMax, isOptional: true },
    answers: { 201: json('A one-use ticket.', StreamTicket) },
    errors: [...JOB_ERRORS, ...BODY_ERRORS, 'tenant_capacity_exhausted', 'insufficient_storage', 'shutting_down'],
    capacity: ['connection', 'body'],
  },
  streamEvents: {
    tag: 'jobs',
    summary: 'Follow the events of a job over a WebSocket.',
    description:
      'Each text frame is one event, the same object as in replay: first the stored ones, then each as it happens. With `include`, one more frame follows the last event: an `EndFrame` ' +
      'with the `result` or the `receipt`, so that nothing has to be asked for afterwards. Where the credential, and no ticket, opened it and has `jobs:submit`, ' +
      'the client may send answers to calls of tools, each as one text message; the event of an answer says that it was ' +
      'taken, and a frame of its own that it was not. It closes ' +
      `with ${STREAM_CLOSES}. After each but 1000 and 4401, open it again where it ended. A refused upgrade ` +
      'is answered over HTTP. A handshake that is not right leaves its ticket unspent; any other refusal spends it.',
    access: 'jobs:read',
    ticket: true,
    closeCodes: STREAM_CLOSE_MEANINGS,
    lastFrame: EndFrame,
    clientMessage: StreamedToolAnswer,
    refusalFrame: AnswerRefused,
    query: StreamQuery,
    answers: { 101: { description: 'The connection is a WebSocket now.', content: {}, headers: [] } },
    errors: [...JOB_ERRORS, 'tenant_capacity_exhausted', 'insufficient_storage', 'shutting_down'],
    capacity: ['connection', 'stream'],
  },
  putBlob: {
    tag: 'blobs',
    summary: 'Upload a file that later submissions name by its digest.',
    description:
      'The body is the file itself, whatever its media type. The address is the SHA-256 of the file, and the file is ' +
      'stored only if it has that digest. It may be sent again. It is removed once no job named it for some time, which ' +
      'capabilities state; a job that waits or runs keeps it.',
    access: 'jobs:submit',
    body: { schema: Bytes, mediaType: BLOB_MEDIA_TYPE, bytesMax: blobBytesMax, isOptional: false },
    answers: {
      200: json('The tenant had it already, and its time begins anew.', StoredBlob),
      201: json('It is stored.', StoredBlob),
    },
    errors: [
      ...SCOPED_ERRORS,
      'body_timeout',
      'payload_too_large',
      'unsupported_media_type',
      'digest_mismatch',
      'tenant_capacity_exhausted',
      'insufficient_storage',
      'shutting_down',
    ],
    capacity: ['connection', 'body'],
  },
  getBlob: {
    tag: 'blobs',
    summary: 'Fetch a file that was uploaded, or a large output of a job.',
    description: 'HEAD says whether the tenant has it, so that it need not be sent again.',
    access: 'jobs:read',
    answers: { 200: storedBytes('The file, byte for byte.', BLOB_MEDIA_TYPE, Bytes) },
    errors: [...SCOPED_ERRORS, 'blob_not_found', 'tenant_capacity_exhausted'],
    capacity: ['connection', 'response'],
  },
  ...TOOL_OPERATIONS,
  ...LINK_OPERATIONS,
  ...GRADING_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...EVIDENCE_OPERATIONS,
  getCapabilities: {
    tag: 'service',
    summary: 'Read what this service can run, and within which bounds.',
    description:
      'The answer changes seldom: ask with its `ETag` in `If-None-Match`, and it is sent again only if it changed.',
    access: 'service:read',
    answers: {
      200: { ...json('Languages, isolation, limits, packs and features.', Capabilities), headers: ['ETag'] },
      304: { description: 'The client has the current answer.', content: {}, headers: ['ETag'] },
    },
    errors: SCOPED_ERRORS,
    capacity: ['connection'],
  },
  getWhoami: {
    tag: 'service',
    summary: 'Read who the credential stands for.',
    access: 'credential',
    answers: { 200: json('Tenant, principal, scopes and expiry.', Whoami) },
    errors: CALLER_ERRORS,
    capacity: ['connection'],
  },
  getStatus: {
    tag: 'service',
    summary: 'Read how the service is doing.',
    access: 'service:read',
    answers: { 200: json('Queue, signer and provider.', ServiceStatus) },
    errors: SCOPED_ERRORS,
    capacity: ['connection'],
  },
  getTenantMetrics: {
    tag: 'service',
    summary: "Read metrics of the tenant's current jobs.",
    description: 'Not a billing ledger.',
    access: 'metrics:read',
    answers: { 200: metrics('Gauges over the current jobs of the tenant.') },
    errors: SCOPED_ERRORS,
    capacity: ['connection'],
  },
  getMetrics: {
    tag: 'public',
    summary: 'Read metrics of the whole service.',
    description:
      'It exists only where the operator set a metrics token, and answers only to that token. Not a billing ledger.',
    access: 'metrics_token',
    answers: { 200: metrics('Metrics with a fixed set of labels.') },
    errors: [...CREDENTIAL_ERRORS, 'route_not_found'],
    capacity: ['connection'],
  },
} as const satisfies Record<OperationId, OperationRow>;

type Rows = typeof ROWS;
type Whole<Id extends OperationId> = (typeof ENDPOINTS)[Id] & Rows[Id];

export const OPERATION_IDS = Object.keys(ROWS) as OperationId[];

/** Every operation: its address and its row. */
export const OPERATIONS = Object.fromEntries(OPERATION_IDS.map((id) => [id, { ...ENDPOINTS[id], ...ROWS[id] }])) as {
  readonly [Id in OperationId]: Whole<Id>;
};

/** The operation with this name, typed with the members that only some operations have. */
export function operationOf(id: OperationId): Operation {
  return OPERATIONS[id];
}
