/**
 * The folded result, with an optional wait for it. A wait holds a wait permit, and a short answer keeps it to its last
 * byte. A long answer holds a response permit instead, as one without a wait does, so that waits and long answers each
 * have a bound. A wait that shutdown interrupts never answers with a part. Spec § GET /v1/jobs/{id}/result, § Response
 * transfer rules.
 */
import { type FoldedResult, responsePumpBytes } from '@svc/protocol';
import { ServiceError } from '../../ground/service-error.ts';
import type { Body } from '../../job/body.ts';
import type { Jobs } from '../../job/jobs.ts';
import { shuttingDown } from '../../job/refusals.ts';
import { interruptionOf } from '../answer/answer-end.ts';
import { sendBody } from '../answer/respond.ts';
import { type Call, type Handler, refuseWhenStopping } from '../call.ts';
import { ClientGone } from '../request/body.ts';

export function resultHandler(jobs: Jobs): Handler<'getResult'> {
  return async (call) => {
    const { wait_seconds: waitSeconds } = call.readQuery();
    if (waitSeconds > 0) refuseWhenStopping(call);
    const held = call.holdWatched(waitSeconds > 0 ? 'wait' : 'response');
    const body = await waitFor(call, jobs, waitSeconds);
    if (waitSeconds > 0 && body.bytes > responsePumpBytes) {
      call.hold('response');
      held[Symbol.dispose]();
    }
    return sendBody(call, 200, body);
  };
}

async function waitFor(call: Call<'getResult'>, jobs: Jobs, waitSeconds: number): Promise<Body<FoldedResult>> {
  const { stopping } = call.context;
  using interruption = interruptionOf(call.reply.raw, stopping);
  const { signal } = interruption;
  try {
    const { hasEnded, body } = await jobs.result(call.caller, call.job_id, { waitSeconds, signal });
    if (waitSeconds > 0 && signal.aborted && !hasEnded) throw interrupted(stopping);
    return body;
  } catch (error) {
    if (waitSeconds === 0 || !signal.aborted || error instanceof ServiceError) throw error;
    throw interrupted(stopping);
  }
}

function interrupted(stopping: AbortSignal): Error {
  return stopping.aborted ? shuttingDown() : new ClientGone();
}
