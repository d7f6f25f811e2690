/**
 * Sees every request to its end: the last byte of its answer out, or the connection gone. One line in the log, and a word
 * to the operator's instruments.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { NO_OBSERVER, type Observer } from '../telemetry/observer.ts';
import { onAnswerEnd } from './answer-end.ts';

/** Watches the requests of an app; must be the first of its hooks. */
export function observeRequests(app: FastifyInstance, observer: Observer): void {
  const isObserved = observer !== NO_OBSERVER;
  app.addHook('onRequest', (request, reply, done) => {
    observeAnswer(request, reply, observer);
    if (isObserved) observer.requestBegan({ ...identityOf(request), traceparent: traceparentOf(request) }, done);
    else done();
  });
}

/** Watches one answer to its end: for requests that no hook is called for. */
export function observeAnswer(request: FastifyRequest, reply: FastifyReply, observer: Observer): void {
  onAnswerEnd(reply.raw, () => tellAnswer(request, reply, observer));
}

/** One line per request. It names the route, never the target: a target may hold a ticket. */
function tellAnswer(request: FastifyRequest, reply: FastifyReply, observer: Observer): void {
  const { id, method, route } = identityOf(request);
  const { statusCode, writableFinished } = reply.raw;
  const status = writableFinished || statusCode === 101 ? statusCode : null;
  const milliseconds = reply.elapsedTime;
  request.log.info(
    {
      request_id: id,
      method,
      route,
      // Null where the client did not wait for the end of the answer.
      status,
      duration_ms: Math.round(milliseconds * 10) / 10,
      tenant: request.caller?.tenant ?? null,
      credential_id: request.caller?.credential_id ?? null,
    },
    'request answered',
  );
  observer.requestAnswered({ id, method, route, status, seconds: milliseconds / 1000 });
}

function identityOf(request: FastifyRequest): { id: string; method: string; route: string | null } {
  return { id: request.id, method: request.method, route: request.routeOptions.config.operation?.path ?? null };
}

function traceparentOf({ headers }: FastifyRequest): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' ? traceparent : undefined;
}
