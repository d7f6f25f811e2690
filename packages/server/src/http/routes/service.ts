/** Operations about the service and the credential. Spec § Other bodies. */
import { answered } from '../../job/answered.ts';
import type { Handlers } from '../call/call.ts';
import { sendBytes, sendJson } from '../call/respond.ts';
import type { RouteContext } from './context.ts';

export function serviceHandlers({
  service,
  metrics,
}: RouteContext): Handlers<'getCapabilities' | 'getWhoami' | 'getStatus' | 'getTenantMetrics'> {
  return {
    getCapabilities: async (call) => sendJson(call, 200, service.capabilities()),
    getWhoami: async (call) => sendJson(call, 200, call.caller),
    getStatus: async (call) => sendJson(call, 200, await answered(service.status())),
    getTenantMetrics: async (call) => {
      const { mediaType, text } = await answered(metrics.ofTenant(call.caller.tenant, call.request.headers.accept));
      return sendBytes(call, 200, { mediaType, bytes: Buffer.from(text) });
    },
  };
}
