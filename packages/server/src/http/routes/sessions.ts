/** Operations on sessions. Spec § Endpoints. */
import type { Handlers } from '../call/call.ts';
import { sendJson } from '../call/respond.ts';
import { sessionNameOf } from '../request/path-id.ts';
import type { RouteContext } from './context.ts';

type SessionOperation = 'listSessions' | 'getSession' | 'removeSession';

export function sessionHandlers({ sessions }: Pick<RouteContext, 'sessions'>): Handlers<SessionOperation> {
  return {
    listSessions: async (call) => sendJson(call, 200, await sessions.list(call.caller)),
    getSession: async (call) => sendJson(call, 200, await sessions.session(call.caller, sessionNameOf(call.request))),
    removeSession: async (call) => sendJson(call, 200, await sessions.remove(call.caller, sessionNameOf(call.request))),
  };
}
