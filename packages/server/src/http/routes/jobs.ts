/** Operations on jobs. Who asks and what they may do was settled at the entry. Spec § Endpoints. */
import { bodyBytesMax, ListQuery, listLimitDefault, ReplayQuery, replayLimitDefault } from '@svc/protocol';
import { unknownCredential } from '../../access/authenticate.ts';
import { whenKnown } from '../../ground/soon.ts';
import { holdUntilAnswered } from '../answer/answer-end.ts';
import { sendBody, sendJson, sendJsonText } from '../answer/respond.ts';
import { callerOf, type OperationHandler, type OperationHandlers } from '../operation.ts';
import { readJsonBody } from '../request/body.ts';
import { idempotencyKeyOf } from '../request/idempotency-key.ts';
import { jobIdOf } from '../request/job-id.ts';
import { queryReader } from '../request/query.ts';
import { refuseWhenStopping } from '../stopping.ts';
import type { RouteContext } from './context.ts';
import { resultHandler } from './result.ts';
import { refusePlainStream, ticketHandler } from './stream.ts';

const readList = queryReader(ListQuery);
const readReplay = queryReader(ReplayQuery);

type JobOperation =
  | 'submitJob'
  | 'listJobs'
  | 'getJob'
  | 'cancelJob'
  | 'getResult'
  | 'replayEvents'
  | 'mintStreamTicket'
  | 'streamEvents';

export function jobHandlers(context: RouteContext): Pick<OperationHandlers, JobOperation> {
  const { jobs } = context;
  return {
    submitJob: submitHandler(context),
    listJobs: (request, reply) => {
      const { limit = listLimitDefault, cursor = null, status = null, language = null } = readList(request.query);
      const page = jobs.list(callerOf(request), { limit, cursor, statuses: status, language });
      return whenKnown(page, (text) => sendJsonText(reply, 200, text));
    },
    getJob: (request, reply) => {
      holdUntilAnswered(reply, context, 'response');
      const detail = jobs.detail(callerOf(request), jobIdOf(request));
      return whenKnown(detail, (text) => sendJsonText(reply, 200, text));
    },
    // It holds no permit: a service that is full must still be able to be relieved.
    cancelJob: async (request, reply) =>
      sendJsonText(reply, 200, await jobs.cancel(callerOf(request), jobIdOf(request))),
    getResult: resultHandler(context),
    replayEvents: async (request, reply) => {
      const { after = 0, limit = replayLimitDefault } = readReplay(request.query);
      holdUntilAnswered(reply, context, 'response');
      return sendBody(reply, 200, await jobs.replay(callerOf(request), jobIdOf(request), { after, limit }));
    },
    mintStreamTicket: ticketHandler(context),
    streamEvents: refusePlainStream,
  };
}

function submitHandler({ jobs, access, permits, authority, stopping, bounds }: RouteContext): OperationHandler {
  return async (request, reply) => {
    refuseWhenStopping(stopping);
    const caller = callerOf(request);
    const idempotencyKey = idempotencyKeyOf(request.headers['idempotency-key']);
    const body = await readJsonBody(request, reply, {
      permits,
      authority,
      caller,
      bytesMax: bodyBytesMax,
      millisecondsMax: bounds.bodyMilliseconds,
    });
    const checkAuthority = async () => {
      if (!(await access.stands(caller))) throw unknownCredential();
    };
    const { answer, replayed } = await jobs.submit(caller, { body, idempotencyKey, checkAuthority });
    reply.header('location', `/v1/jobs/${answer.job_id}`).header('idempotency-replayed', String(replayed));
    return sendJson(reply, 201, answer);
  };
}
