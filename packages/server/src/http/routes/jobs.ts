/** Operations on jobs. `entry.ts` has settled who the caller is and what it may do. Spec § Endpoints. */

import type { Handlers } from '../call/call.ts';
import { sendJsonText } from '../call/respond.ts';
import type { RouteContext } from './context.ts';
import { replayHandler } from './replay.ts';
import { resultHandler } from './result.ts';
import { streamHandler, ticketHandler } from './stream.ts';
import { submitHandler } from './submission.ts';

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
    listJobs: async (call) => sendJsonText(call, 200, await jobs.list(call.caller, call.readQuery())),
    getJob: async (call) => {
      call.holdWatched('response');
      return sendJsonText(call, 200, await jobs.detail(call.caller, call.job_id));
    },
    cancelJob: async (call) => sendJsonText(call, 200, await jobs.cancel(call.caller, call.job_id)),
    getResult: resultHandler(jobs),
    replayEvents: replayHandler(jobs),
    mintStreamTicket: ticketHandler(context),
    streamEvents: streamHandler(context),
  };
}
