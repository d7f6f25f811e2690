/** Operations that anyone may call. None of them may ever show a secret. Spec § Endpoints. */
import { answered } from '../../job/answered.ts';
import type { Handlers } from '../call/call.ts';
import { sendBytes, sendJson } from '../call/respond.ts';
import type { RouteContext } from './context.ts';

export function publicHandlers({
  service,
  openapi,
  metrics,
}: RouteContext): Handlers<'getHealth' | 'getReadiness' | 'getContract' | 'getMetrics'> {
  return {
    getHealth: async (call) => sendJson(call, 200, { status: 'ok' }),
    getReadiness: async (call) => {
      const readiness = await service.readiness();
      return sendJson(call, readiness.status === 'ready' ? 200 : 503, readiness);
    },
    getContract: async (call) => sendBytes(call, 200, { mediaType: 'application/json', bytes: openapi }),
    // `entry.ts` has already checked that a token is set and that the request has it.
    getMetrics: async (call) => {
      const { mediaType, text } = await answered(metrics.ofService(call.request.headers.accept));
      return sendBytes(call, 200, { mediaType, bytes: Buffer.from(text) });
    },
  };
}
