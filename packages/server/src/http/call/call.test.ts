import type { AnswerBody } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { readEmptyBody, readJsonBody } from './body.ts';
import { type Call, type Handlers, refuseWhenStopping } from './call.ts';
import { sendBytes, sendJson } from './respond.ts';

/** The compiler refuses each of these lines. If it accepts one, `npm run typecheck` fails. */
const REFUSED = [
  // @ts-expect-error: an operation holds only the permits that it lists
  (call: Call<'mintStreamTicket'>) => call.hold('response'),
  // @ts-expect-error: a handler of several operations may hold only a permit that all of them list
  (call: Call<'getJob' | 'listJobs'>) => call.hold('response'),
  // @ts-expect-error: only an operation that takes a body reads a body
  (call: Call<'cancelJob'>) => readEmptyBody(call),
  // @ts-expect-error: a body that may be left out is read by `readEmptyBody`
  (call: Call<'mintStreamTicket'>) => readJsonBody(call),
  // @ts-expect-error: an operation is refused only with codes that it lists
  (call: Call<'listJobs'>) => refuseWhenStopping(call),
  // @ts-expect-error: an operation reads only the parameters of its query
  (call: Call<'replayEvents'>) => call.readQuery().cursor,
  // @ts-expect-error: a public operation has no caller
  (call: Call<'getHealth'>) => call.caller.tenant,
  // @ts-expect-error: an operation that is not on one job has no job id
  (call: Call<'listJobs'>) => call.job_id.length,
  // @ts-expect-error: an operation answers with the statuses that it lists
  (call: Call<'getHealth'>) => sendJson(call, 201, { status: 'ok' }),
  // @ts-expect-error: an answer must have the members of its schema
  (call: Call<'getHealth'>) => sendJson(call, 200, {}),
  // @ts-expect-error: an answer has only the members of its schema
  (call: Call<'getHealth'>) => sendJson(call, 200, { status: 'ok', state: 'ok' }),
  // @ts-expect-error: an answer must have its headers
  (call: Call<'submitJob'>, answer: AnswerBody<'submitJob'>) => sendJson(call, 201, answer),
  // @ts-expect-error: an answer must have one of its operation's media types
  (call: Call<'getContract'>, bytes: Buffer) => sendBytes(call, 200, { mediaType: 'text/plain', bytes }),
  // @ts-expect-error: every operation has a handler
  (handlers: Handlers<'getHealth'>): Handlers => handlers,
];

test('the compiler refuses a handler that does what its operation does not list', () => {
  expect(REFUSED.every((refused) => typeof refused === 'function')).toBe(true);
});
