/** Operations on a program's tool calls. */
import type { ToolCalls } from '@vouchbox/protocol';
import { bodyOf, LongJson } from '../../job/body.ts';
import { readJsonBody } from '../call/body.ts';
import { type Handlers, refuseWhenStopping } from '../call/call.ts';
import { sendBody, sendJson } from '../call/respond.ts';
import { eventNumberOf } from '../request/path-id.ts';
import type { RouteContext } from './context.ts';
import { Waiting } from './waiting.ts';

export function toolHandlers({ jobs }: RouteContext): Handlers<'listToolCalls' | 'answerToolCall'> {
  return {
    async listToolCalls(call) {
      const { wait_seconds: waitSeconds, after } = call.readQuery();
      const waiting = new Waiting(call, waitSeconds);
      const { text } = await waiting.ask(
        (signal) => jobs.toolCalls(call.caller, call.job_id, { after, waitSeconds, signal }),
        ({ isEmpty }) => !isEmpty,
      );
      const body = bodyOf(new LongJson<ToolCalls>(text));
      waiting.over(body);
      return sendBody(call, 200, body);
    },
    async answerToolCall(call) {
      refuseWhenStopping(call);
      const { caller, job_id } = call;
      const seq = eventNumberOf(call.request);
      const answer = await readJsonBody(call);
      return sendJson(call, 200, await jobs.answerToolCall(caller, job_id, { seq, answer }));
    },
  };
}
