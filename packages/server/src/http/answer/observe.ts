/**
 * Watches every request until the last byte of its answer was sent or the connection is gone. Then writes one line to the log
 * and counts the request in the operator's metrics.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type AnswerLine, answerLog } from '../../telemetry/log/answer-log.ts';
import type { Log } from '../../telemetry/log/log.ts';
import { NO_OBSERVER, type Observer } from '../../telemetry/observer.ts';
import { onAnswerEnd } from './answer-end.ts';

/** Watches one answer to its end. */
export type AnswerWatch = (request: FastifyRequest, reply: FastifyReply) => void;

export function createAnswerWatch(log: Log, observer: Observer): AnswerWatch {
  const writeLine = answerLog(log);
  return (request, reply) => {
    const began = performance.now();
    onAnswerEnd(reply.raw, () => tellAnswer(request, reply, { writeLine, observer, began }));
  };
}

/**
 * Watches an app's requests. Its hook must be the app's first hook. Requests for which no hook is called are not counted.
 */
export function observeRequests(app: FastifyInstance, watch: AnswerWatch, observer: Observer): void {
  const isObserved = observer !== NO_OBSERVER;
  app.addHook('onRequest', (request, reply, done) => {
    watch(request, reply);
    if (isObserved) observer.requestBegan({ ...identityOf(request), traceparent: traceparentOf(request) }, done);
    else done();
  });
}

interface Told {
  readonly writeLine: (answer: AnswerLine) => void;
  /** The monotonic clock at the beginning, in milliseconds. */
  readonly began: number;
  readonly observer: Observer;
}

/** One line per request. */
function tellAnswer(request: FastifyRequest, reply: FastifyReply, { writeLine, observer, began }: Told): void {
  const { id, method, route } = identityOf(request);
  const { statusCode, writableFinished } = reply.raw;
  const status = writableFinished || statusCode === 101 ? statusCode : null;
  const milliseconds = performance.now() - began;
  writeLine({
    request_id: id,
    method,
    route,
    status,
    duration_ms: Math.round(milliseconds * 10) / 10,
    tenant: request.caller?.tenant ?? null,
    credential_id: request.caller?.credential_id ?? null,
  });
  observer.requestAnswered({ id, method, route, status, seconds: milliseconds / 1000 });
}

function identityOf(request: FastifyRequest): { id: string; method: string; route: string | null } {
  return { id: request.id, method: request.method, route: request.routeOptions.config.operation?.path ?? null };
}

function traceparentOf({ headers }: FastifyRequest): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' ? traceparent : undefined;
}
