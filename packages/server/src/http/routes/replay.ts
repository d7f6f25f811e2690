/** Stored events in pages, with an optional wait for the first that is new. Spec § GET /v1/jobs/{id}/replay. */
import type { Jobs } from '../../job/jobs.ts';
import type { Handler } from '../call/call.ts';
import { sendBody } from '../call/respond.ts';
import { Waiting } from './waiting.ts';

export function replayHandler(jobs: Jobs): Handler<'replayEvents'> {
  return async (call) => {
    const { wait_seconds: waitSeconds, ...page } = call.readQuery();
    const waiting = new Waiting(call, waitSeconds);
    const { body } = await waiting.ask(
      (signal) => jobs.replay(call.caller, call.job_id, { ...page, wait: { waitSeconds, signal } }),
      ({ isEmpty }) => !isEmpty,
    );
    waiting.over(body);
    return sendBody(call, 200, body);
  };
}
