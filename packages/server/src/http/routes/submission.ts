/**
 * A submission, with an optional wait for the result of its job. The answer says that the job is stored, whatever
 * happens to the wait. A result that cannot be sent is left out, and can be read at `result_url`. Spec § POST /v1/jobs.
 */
import { type AwaitedSubmission, type FoldedResult, jobPath } from '@vouchbox/protocol';
import { unknownCredential } from '../../access/authenticate.ts';
import { ServiceError } from '../../ground/service-error.ts';
import { type Body, bodyOf, LongJson, longObject } from '../../job/body.ts';
import { readJsonBody } from '../call/body.ts';
import { type Call, type Handler, refuseWhenStopping } from '../call/call.ts';
import { sendBody, sendJson } from '../call/respond.ts';
import { idempotencyKeyOf } from '../request/idempotency-key.ts';
import type { RouteContext } from './context.ts';
import { Waiting } from './waiting.ts';

export function submitHandler(context: RouteContext): Handler<'submitJob'> {
  return async (call) => {
    refuseWhenStopping(call);
    const { wait_seconds } = call.readQuery();
    // Taken before the job is stored, so that a caller who cannot wait is refused and no job is made.
    const waiting = wait_seconds > 0 ? new Waiting(call, wait_seconds, { outlives: true }) : null;
    const { answer, headers } = await submit(call, context);
    const result = waiting === null ? null : await resultInTime(call, { waiting, context, job_id: answer.job_id });
    // The id of a job that is stored is told, and nothing more. Spec § Authentication 8.
    if (waiting?.isOrphan) call.reply.header('connection', 'close');
    if (result === null) return sendJson(call, 201, answer, headers);
    const members = { ...answer, result: new LongJson<FoldedResult>(result.text ?? result) };
    return sendBody(call, 201, bodyOf(longObject<AwaitedSubmission>(members)), headers);
  };
}

async function submit(call: Call<'submitJob'>, { jobs, access }: RouteContext) {
  const { caller } = call;
  const idempotencyKey = idempotencyKeyOf(call.request.headers['idempotency-key']);
  const body = await readJsonBody(call);
  const checkAuthority = async () => {
    if (!(await access.stands(caller))) throw unknownCredential();
  };
  const { answer, replayed } = await jobs.submit(caller, { body, idempotencyKey, checkAuthority });
  const headers = { Location: jobPath('getJob', answer.job_id), 'Idempotency-Replayed': String(replayed) };
  return { answer, headers };
}

/** Null if the job did not end in time, the service stops, the authority ends, or no permit for a long answer is free. */
async function resultInTime(
  { caller }: Call<'submitJob'>,
  { waiting, context, job_id }: { waiting: Waiting; context: RouteContext; job_id: string },
): Promise<Body<FoldedResult> | null> {
  const { waitSeconds } = waiting;
  try {
    const { hasEnded, body } = await waiting.ask(
      (signal) => context.jobs.result(caller, job_id, { waitSeconds, signal }),
      (answer) => answer.hasEnded,
    );
    if (!hasEnded) return null;
    waiting.over(body);
    return body;
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}
