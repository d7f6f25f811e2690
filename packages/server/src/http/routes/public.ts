/** Operations that anyone may call. None of them may ever show a secret. Spec § Endpoints. */
import { answered } from '../../job/answered.ts';
import { sendBytes, sendJson } from '../answer/respond.ts';
import type { OperationHandlers } from '../operation.ts';
import type { RouteContext } from './context.ts';

export function publicHandlers({
  service,
  openapi,
  metrics,
}: RouteContext): Pick<OperationHandlers, 'getHealth' | 'getReadiness' | 'getContract' | 'getMetrics'> {
  const contract = Buffer.from(openapi);
  return {
    getHealth: async (_request, reply) => sendJson(reply, 200, { status: 'ok' }),
    getReadiness: async (_request, reply) => {
      const readiness = await service.readiness();
      return sendJson(reply, readiness.status === 'ready' ? 200 : 503, readiness);
    },
    getContract: async (_request, reply) => sendBytes(reply, contract, { status: 200, mediaType: 'application/json' }),
    // That the token was shown, and that there is one, was seen to at the entry.
    getMetrics: async (request, reply) => {
      const { mediaType, text } = await answered(metrics.ofService(request.headers.accept));
      return sendBytes(reply, Buffer.from(text), { status: 200, mediaType });
    },
  };
}
