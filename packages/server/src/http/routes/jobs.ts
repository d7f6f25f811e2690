/** Operations on jobs. `entry.ts` has already checked who the caller is and what it may do. Spec § Endpoints. */

import type { Handlers } from '../call/call.ts';
import { sendBody, sendJsonText } from '../call/respond.ts';
import type { RouteContext } from './context.ts';
import { streamHandler, ticketHandler } from './stream.ts';
import { submitHandler } from './submission.ts';
import { Waiting } from './waiting.ts';

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
    async getResult(call) {
      const { wait_seconds: waitSeconds } = call.readQuery();
      const waiting = new Waiting(call, waitSeconds);
      const { body } = await waiting.ask(
        (signal) => jobs.result(call.caller, call.job_id, { waitSeconds, signal }),
        ({ hasEnded }) => hasEnded,
      );
      waiting.over(body);
      return sendBody(call, 200, body);
    },
    async replayEvents(call) {
      const { wait_seconds: waitSeconds, ...page } = call.readQuery();
      const waiting = new Waiting(call, waitSeconds);
      const { body } = await waiting.ask(
        (signal) => jobs.replay(call.caller, call.job_id, { ...page, wait: { waitSeconds, signal } }),
        ({ isEmpty }) => !isEmpty,
      );
      waiting.over(body);
      return sendBody(call, 200, body);
    },
    mintStreamTicket: ticketHandler(context),
    streamEvents: streamHandler(context),
  };
}
