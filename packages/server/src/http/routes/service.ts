/** Operations about the service and the credential. Spec § Other bodies. */
import { answered } from '../../job/answered.ts';
import { sendBytes, sendJson } from '../answer/respond.ts';
import { callerOf, type OperationHandlers } from '../operation.ts';
import type { RouteContext } from './context.ts';

export function serviceHandlers({
  service,
  metrics,
}: RouteContext): Pick<OperationHandlers, 'getCapabilities' | 'getWhoami' | 'getStatus' | 'getTenantMetrics'> {
  return {
    getCapabilities: async (_request, reply) => sendJson(reply, 200, service.capabilities()),
    getWhoami: async (request, reply) => sendJson(reply, 200, callerOf(request)),
    getStatus: async (_request, reply) => sendJson(reply, 200, await answered(service.status())),
    getTenantMetrics: async (request, reply) => {
      const { mediaType, text } = await answered(metrics.ofTenant(callerOf(request).tenant, request.headers.accept));
      return sendBytes(reply, Buffer.from(text), { status: 200, mediaType });
    },
  };
}
