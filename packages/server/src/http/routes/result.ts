/**
 * The folded result, with an optional wait for it. A wait that shutdown interrupts never answers with a part.
 * Spec § GET /v1/jobs/{id}/result.
 */
import type { Jobs } from '../../job/jobs.ts';
import type { Handler } from '../call/call.ts';
import { sendBody } from '../call/respond.ts';
import { Waiting } from './waiting.ts';

export function resultHandler(jobs: Jobs): Handler<'getResult'> {
  return async (call) => {
    const { wait_seconds: waitSeconds } = call.readQuery();
    const waiting = new Waiting(call, waitSeconds);
    const { body } = await waiting.ask(
      (signal) => jobs.result(call.caller, call.job_id, { waitSeconds, signal }),
      ({ hasEnded }) => hasEnded,
    );
    waiting.over(body);
    return sendBody(call, 200, body);
  };
}
