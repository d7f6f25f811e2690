/**
 * The folded result, with an optional wait for it. A wait holds a wait permit, and a short answer keeps it to its last
 * byte. A long answer holds a response permit in its place, as one without a wait does, so that waits and long answers
 * have a bound each. A wait that shutdown interrupts never answers with a part.
 * Spec § GET /v1/jobs/{id}/result, § Response transfer rules.
 */
import { ResultQuery, responsePumpBytes } from '@svc/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../ground/service-error.ts';
import type { Body } from '../../job/body.ts';
import type { Jobs } from '../../job/jobs.ts';
import { shuttingDown } from '../../job/refusals.ts';
import { holdPermitUntilAnswered, holdUntilAnswered, interruptionOf } from '../answer/answer-end.ts';
import { sendBody } from '../answer/respond.ts';
import { callerOf, type OperationHandler } from '../operation.ts';
import { ClientGone } from '../request/body.ts';
import { jobIdOf } from '../request/job-id.ts';
import { queryReader } from '../request/query.ts';
import { refuseWhenStopping } from '../stopping.ts';
import type { RouteContext } from './context.ts';

const readResult = queryReader(ResultQuery);

export function resultHandler(context: RouteContext): OperationHandler {
  const { jobs, stopping } = context;
  return async (request, reply) => {
    const { wait_seconds: waitSeconds = 0 } = readResult(request.query);
    if (waitSeconds > 0) refuseWhenStopping(stopping);
    const held = holdUntilAnswered(reply, context, waitSeconds > 0 ? 'wait' : 'response');
    const body = await waitFor({ request, reply, jobs, stopping, waitSeconds });
    if (waitSeconds > 0 && body.bytes > responsePumpBytes) {
      holdPermitUntilAnswered(reply, context.permits, 'response');
      held[Symbol.dispose]();
    }
    return sendBody(reply, 200, body);
  };
}

interface Wait {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly jobs: Jobs;
  readonly stopping: AbortSignal;
  readonly waitSeconds: number;
}

async function waitFor({ request, reply, jobs, stopping, waitSeconds }: Wait): Promise<Body> {
  using interruption = interruptionOf(reply.raw, stopping);
  const { signal } = interruption;
  try {
    const { hasEnded, body } = await jobs.result(callerOf(request), jobIdOf(request), { waitSeconds, signal });
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
