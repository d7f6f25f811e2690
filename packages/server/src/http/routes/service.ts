/** Operations about the service and the credential. Spec § Other bodies. */
import { textOf } from '../../ground/json-text.ts';
import { answered } from '../../job/answered.ts';
import type { Handlers } from '../call/call.ts';
import { sendBytes, sendJson, sendJsonText, sendNothing } from '../call/respond.ts';
import { etagOf, hasIt } from '../request/etag.ts';
import type { RouteContext } from './context.ts';

export function serviceHandlers({
  service,
  metrics,
}: RouteContext): Handlers<'getCapabilities' | 'getWhoami' | 'getStatus' | 'getTenantMetrics'> {
  return {
    async getCapabilities(call) {
      const text = textOf(service.capabilities());
      const headers = { ETag: etagOf(text) };
      if (hasIt(call.request.headers['if-none-match'], headers.ETag)) return sendNothing(call, 304, headers);
      return sendJsonText(call, 200, text, headers);
    },
    getWhoami: async (call) => sendJson(call, 200, call.caller),
    getStatus: async (call) => sendJson(call, 200, await answered(service.status(call.caller.tenant))),
    getTenantMetrics: async (call) => {
      const { mediaType, text } = await answered(metrics.ofTenant(call.caller.tenant, call.request.headers.accept));
      return sendBytes(call, 200, { mediaType, bytes: Buffer.from(text) });
    },
  };
}
