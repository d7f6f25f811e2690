/** Operations on jobs. `entry.ts` has settled who the caller is and what it may do. Spec § Endpoints. */
import { jobPath } from '@svc/protocol';
import { unknownCredential } from '../../access/authenticate.ts';
import { whenKnown } from '../../ground/soon.ts';
import { sendBody, sendJson, sendJsonText } from '../answer/respond.ts';
import { type Handler, type Handlers, refuseWhenStopping } from '../call.ts';
import { readJsonBody } from '../request/body.ts';
import { idempotencyKeyOf } from '../request/idempotency-key.ts';
import type { RouteContext } from './context.ts';
import { resultHandler } from './result.ts';
import { refusePlainStream, ticketHandler } from './stream.ts';

type JobOperation =
  | 'submitJob'
  | 'listJobs'
  | 'getJob'
  | 'cancelJob'
  | 'getResult'
  | 'replayEvents'
  | 'mintStreamTicket'
  | 'streamEvents';

export function jobHandlers(context: RouteContext): Handlers<JobOperation> {
  const { jobs } = context;
  return {
    submitJob: submitHandler(context),
    listJobs: (call) => whenKnown(jobs.list(call.caller, call.readQuery()), (page) => sendJsonText(call, 200, page)),
    getJob: (call) => {
      call.holdWatched('response');
      return whenKnown(jobs.detail(call.caller, call.job_id), (detail) => sendJsonText(call, 200, detail));
    },
    cancelJob: async (call) => sendJsonText(call, 200, await jobs.cancel(call.caller, call.job_id)),
    getResult: resultHandler(jobs),
    replayEvents: async (call) => {
      const page = call.readQuery();
      call.holdWatched('response');
      return sendBody(call, 200, await jobs.replay(call.caller, call.job_id, page));
    },
    mintStreamTicket: ticketHandler(context),
    streamEvents: refusePlainStream,
  };
}

function submitHandler({ jobs, access }: RouteContext): Handler<'submitJob'> {
  return async (call) => {
    refuseWhenStopping(call);
    const { caller } = call;
    const idempotencyKey = idempotencyKeyOf(call.request.headers['idempotency-key']);
    const body = await readJsonBody(call);
    const checkAuthority = async () => {
      if (!(await access.stands(caller))) throw unknownCredential();
    };
    const { answer, replayed } = await jobs.submit(caller, { body, idempotencyKey, checkAuthority });
    const headers = { Location: jobPath('getJob', answer.job_id), 'Idempotency-Replayed': String(replayed) };
    return sendJson(call, 201, answer, headers);
  };
}
