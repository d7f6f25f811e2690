/**
 * A submission, with an optional wait for the job's end and further members in the answer. The answer always says that the job is
 * stored, whatever happens to the other parts. Parts that cannot be sent are left out; each can be read with a separate
 * operation. Spec § POST /v1/jobs.
 */
import {
  type AnyReceipt,
  type AwaitedSubmission,
  type DsseEnvelope,
  type FilledQueryOf,
  type JobDetail,
  jobPath,
} from '@vouchbox/protocol';
import { unknownCredential } from '../../access/authenticate.ts';
import { ServiceError } from '../../ground/service-error.ts';
import { bodyOf, jsonOf, LongJson, longObject } from '../../job/body.ts';
import { eventsMax, type ResultWait } from '../../job/view/result.ts';
import { readJsonBody } from '../call/body.ts';
import { type Call, type Handler, refuseWhenStopping } from '../call/call.ts';
import { sendBody } from '../call/respond.ts';
import { idempotencyKeyOf } from '../request/idempotency-key.ts';
import type { RouteContext } from './context.ts';
import { mintedTicket } from './stream.ts';
import { Waiting } from './waiting.ts';

type Include = FilledQueryOf<'submitJob'>['include'];
/** The answer's members about the job. All except the promise need the job's end. */
type EndMembers = Pick<AwaitedSubmission, 'result' | 'receipt' | 'detail' | 'history' | 'promise'>;
type LongMembers = { readonly [Name in keyof EndMembers]: LongJson<EndMembers[Name]> };

export function submitHandler(context: RouteContext): Handler<'submitJob'> {
  return async (call) => {
    refuseWhenStopping(call);
    const { wait_seconds, include } = call.readQuery();
    // The permit is reserved before the job is stored, so that a caller who cannot wait is refused without creating a job.
    const waiting = wait_seconds > 0 ? new Waiting(call, wait_seconds, { outlives: true }) : null;
    const { answer, headers } = await submit(call, context);
    const { job_id } = answer;
    const asked = { call, context, job_id, include };
    const atOnce = { waitSeconds: 0, signal: call.context.stopping };
    const told = await (waiting ? orNull(endInTime(asked, waiting)) : promiseInTime(asked, atOnce));
    const isOrphan = waiting?.isOrphan ?? false;
    // If the credential has ended, only the stored job's id is returned. Spec § Authentication 8.
    if (isOrphan) call.reply.header('connection', 'close');
    const asksTicket = include.includes('stream_ticket') && !isOrphan;
    const stream_ticket = asksTicket ? await orNull(mintedTicket(context.tickets, call.caller, job_id)) : null;
    const members = { ...answer, ...told, ...(stream_ticket !== null && { stream_ticket }) };
    return sendBody(call, 201, bodyOf(longObject<AwaitedSubmission>(members)), headers);
  };
}

async function submit(call: Call<'submitJob'>, { jobs, access }: RouteContext) {
  const { answer, replayed } = await jobs.submit(call.caller, await sentIn(call, access));
  const headers = { Location: jobPath('getJob', answer.job_id), 'Idempotency-Replayed': String(replayed) };
  return { answer, headers };
}

/** What a caller submits. The caller's authority is checked again after the body was read, because reading may take long. */
export async function sentIn(call: Call<'submitJob' | 'submitGrading'>, access: RouteContext['access']) {
  const { caller } = call;
  const idempotencyKey = idempotencyKeyOf(call.request.headers['idempotency-key']);
  const body = await readJsonBody(call);
  const checkAuthority = async () => {
    if (!(await access.stands(caller))) throw unknownCredential();
  };
  return { body, idempotencyKey, checkAuthority };
}

/** A further part of a submission's answer; null if that part is refused. The submission then still succeeds. */
async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

interface Asked {
  readonly call: Call<'submitJob'>;
  readonly context: RouteContext;
  readonly job_id: string;
  readonly include: Include;
}

/** How long to wait for a promise. A promise is usually signed at once. A late promise must not hold up the result. */
const promiseSecondsMax = 5;

/**
 * The members after the wait. If the job did not end in time, they are only the promise.
 *
 * @throws ServiceError if the service stops, the authority ends, or no permit for a long answer is free
 */
function endInTime(asked: Asked, waiting: Waiting): Promise<LongMembers> {
  const { waitSeconds } = waiting;
  const { call, context, job_id, include } = asked;
  const { caller } = call;
  const { jobs } = context;
  const start = performance.now();
  const read = async (signal: AbortSignal): Promise<LongMembers> => {
    const { hasEnded, body: result } = await jobs.result(caller, job_id, { waitSeconds, signal });
    const left = hasEnded ? Math.max(0, waitSeconds - (performance.now() - start) / 1000) : 0;
    const promise = await promiseInTime(asked, { waitSeconds: Math.min(left, promiseSecondsMax), signal });
    if (!hasEnded) return promise;
    const receipt = include.includes('receipt') ? await jobs.receipt(caller, job_id) : null;
    // The detail contains the whole program, so its length is not known before it is read.
    if (include.includes('detail')) waiting.over({ bytes: Number.POSITIVE_INFINITY });
    const detail = include.includes('detail') ? await jobs.detail(caller, job_id) : null;
    const all = include.includes('history') ? jobs.replay(caller, job_id, { after: 0, limit: eventsMax }) : null;
    const history = all && (await all).body;
    const members = {
      result: jsonOf(result),
      ...(receipt !== null && { receipt: new LongJson<AnyReceipt>(receipt) }),
      ...(detail !== null && { detail: new LongJson<JobDetail>(detail) }),
      ...(history !== null && { history: jsonOf(history) }),
      ...promise,
    };
    waiting.over(bodyOf(longObject<EndMembers>(members)));
    return members;
  };
  return waiting.ask(read, ({ result }) => result !== undefined);
}

/** The promise's exact text. Empty if none was requested, none was made, or it is not signed in time. */
async function promiseInTime({ call: { caller }, context, job_id, include }: Asked, wait: ResultWait) {
  const promise = include.includes('promise') ? await orNull(context.jobs.promise(caller, job_id, wait)) : null;
  if (promise === null) return {};
  return { promise: new LongJson<DsseEnvelope>(Buffer.from(promise.bytes).toString()) };
}
