/** Operations on gradings. Spec § Gradings. */
import { gradingPath } from '@vouchbox/protocol';
import { bodyOf, LongJson } from '../../job/body.ts';
import { type Handlers, refuseWhenStopping } from '../call/call.ts';
import { sendBody, sendJson } from '../call/respond.ts';
import { gradingIdOf } from '../request/path-id.ts';
import type { RouteContext } from './context.ts';
import { sentIn } from './submission.ts';
import { Waiting } from './waiting.ts';

type GradingOperation = 'submitGrading' | 'listGradings' | 'getGrading' | 'cancelGrading' | 'gradingEvents';

export function gradingHandlers({ gradings, access }: RouteContext): Handlers<GradingOperation> {
  return {
    async submitGrading(call) {
      refuseWhenStopping(call);
      const { answer, replayed } = await gradings.submit(call.caller, await sentIn(call, access));
      const headers = {
        Location: gradingPath('getGrading', answer.grading_id),
        'Idempotency-Replayed': String(replayed),
      };
      return sendJson(call, 201, answer, headers);
    },
    listGradings: async (call) => sendJson(call, 200, await gradings.list(call.caller, call.readQuery())),
    async getGrading(call) {
      const grading_id = gradingIdOf(call.request);
      const { wait_seconds: waitSeconds } = call.readQuery();
      const waiting = new Waiting(call, waitSeconds);
      const detail = await waiting.ask(
        (signal) => gradings.detail(call.caller, grading_id, { waitSeconds, signal }),
        ({ finished_at }) => finished_at !== null,
      );
      const body = bodyOf(new LongJson<typeof detail>(JSON.stringify(detail)));
      waiting.over(body);
      return sendBody(call, 200, body);
    },
    cancelGrading: async (call) => sendJson(call, 200, await gradings.cancel(call.caller, gradingIdOf(call.request))),
    async gradingEvents(call) {
      const grading_id = gradingIdOf(call.request);
      const { wait_seconds: waitSeconds, after, limit } = call.readQuery();
      const waiting = new Waiting(call, waitSeconds);
      const page = await waiting.ask(
        (signal) => gradings.events(call.caller, grading_id, { after, limit, waitSeconds, signal }),
        ({ items, next_cursor }) => items.length > 0 || next_cursor === null,
      );
      const body = bodyOf(new LongJson<typeof page>(JSON.stringify(page)));
      waiting.over(body);
      return sendBody(call, 200, body);
    },
  };
}
