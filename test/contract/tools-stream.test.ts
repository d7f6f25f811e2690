/** Spec § Tools: calls and answers over a job's stream. */
import type { JobSubmission } from '@vouchbox/protocol';
import { openCredentials } from '@vouchbox/server';
import { describe, expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';
import { AnsweringStream, callingPython, openCalls } from '../rig/tool-programs.ts';

const rig = useRig({ provider: 'subprocess', concurrency: '4' });

async function submitted(code: string, more: Partial<JobSubmission> = {}): Promise<string> {
  return (await rig().alpha.client.submit(callingPython(code, more))).job_id;
}

/** A job that waits for the answer to its call. The call is event 3. */
const waiting = (more: Partial<JobSubmission> = {}) => submitted('print(call("search")["result"])', more);

async function keyOf(changes: object): Promise<string> {
  await using operator = await openCredentials({ dataDir: rig().dataDir });
  return (await operator.create({ tenant: 'alpha', principal: null, scopes: null, expires_at: null, ...changes })).key;
}

/** Expects that the job's call is still open, and then cancels the job. */
async function expectUnanswered(job_id: string): Promise<void> {
  expect((await openCalls(rig(), job_id)).length).toBe(1);
  await rig().alpha.client.cancel(job_id);
}

describe('over a stream that a key has opened', { tags: ['Tools-9'] }, () => {
  test('a call arrives as an event, and the answer is sent as a message and then appears as an event', async () => {
    const job_id = await submitted('for n in range(3): print(call("search", n=n)["result"])');
    const stream = await AnsweringStream.open(rig(), job_id);
    for (let at = 1; at <= 3; at++) {
      const { seq, data } = await stream.event('tool_call', at);
      stream.send({ call_seq: seq, result: (data as { arguments: { n: number } }).arguments.n * 2 });
    }
    expect((await stream.event('finished')).kind).toBe('finished');
    expect(await stream.closed).toBe(1000);
    expect((await rig().ended(job_id)).result.stdout).toBe('0\n2\n4\n');
    const kinds = stream.frames.flatMap((frame) =>
      'kind' in frame && frame.kind.startsWith('tool') ? [frame.kind] : [],
    );
    expect(kinds).toEqual(Array(3).fill(['tool_call', 'tool_result']).flat());
  });

  test('the refusal of an answer arrives as a message, and the stream stays open', async () => {
    const tools = [{ name: 'search', result: { type: 'integer' as const } }];
    const job_id = await submitted('print(call("search")["result"], flush=True); call("search")', { tools });
    const stream = await AnsweringStream.open(rig(), job_id);
    const { seq } = await stream.event('tool_call');
    const refused = async (message: { readonly call_seq: number; readonly result?: unknown }) => {
      const known = stream.frames.length;
      stream.send(message);
      return await stream.find((frame) => stream.frames.indexOf(frame) >= known && frame.answer_refused);
    };
    const told = (call_seq: number, code: string) =>
      expect.objectContaining({ call_seq, code, retryable: false }) as unknown;
    expect(await refused({ call_seq: 2, result: 1 })).toEqual(told(2, 'tool_call_not_found'));
    expect(await refused({ call_seq: seq, result: 'x' })).toEqual(told(seq, 'tool_result_misfit'));
    expect(await refused({ call_seq: seq })).toEqual(told(seq, 'invalid_request'));
    stream.send({ call_seq: seq, result: 5 });
    const next = await stream.event('tool_call', 2);
    expect(await refused({ call_seq: seq, result: 6 })).toEqual(told(seq, 'tool_call_answered'));
    stream.send({ call_seq: next.seq, result: 7 });
    expect(await stream.closed).toBe(1000);
    expect((await rig().ended(job_id)).result.stdout).toBe('5\n');
  });

  test('the same answer may be sent again over a new stream after the first stream broke', async () => {
    const job_id = await submitted('call("search"); call("search")');
    const first = await AnsweringStream.open(rig(), job_id);
    const { seq } = await first.event('tool_call');
    first.send({ call_seq: seq, result: 1 });
    const next = await first.event('tool_call', 2);
    first.close();
    const again = await AnsweringStream.open(rig(), job_id, { after: seq });
    again.send({ call_seq: seq, result: 1 });
    again.send({ call_seq: seq, result: 2 });
    again.send({ call_seq: next.seq, result: 1 });
    expect(await again.closed).toBe(1000);
    expect((await again.refusal()).code).toBe('tool_call_answered');
    const { events } = await rig().ended(job_id);
    expect(events.filter(({ kind }) => kind === 'tool_result')).toHaveLength(2);
  });

  test.each<[string, object | string | Uint8Array, number]>([
    ['text that is no JSON', 'hello', 1008],
    ['a number', '3', 1008],
    ['an answer without the number of its call', { result: 1 }, 1008],
    ['an answer with another member', { call_seq: 3, result: 1, principal: 'root' }, 1008],
    ['an answer with one member twice', '{"call_seq":3,"result":1,"result":2}', 1008],
    ['bytes', new TextEncoder().encode('{"call_seq":3,"result":1}'), 1008],
    ['larger than an answer may be', { call_seq: 3, result: 'x'.repeat(1024 * 1024) }, 1009],
  ])('a stream is closed by a message that is %s', { tags: ['Stream-3d'] }, async (_, message, code) => {
    const job_id = await waiting();
    const stream = await AnsweringStream.open(rig(), job_id);
    await stream.event('tool_call');
    stream.send(message);
    expect(await stream.closed).toBe(code);
    await expectUnanswered(job_id);
  });

  test('hundreds of answers to unknown calls close the stream; until then, each answer is refused in order', async () => {
    const job_id = await waiting();
    const stream = await AnsweringStream.open(rig(), job_id);
    await stream.event('tool_call');
    for (let at = 0; at < 300; at++) stream.send({ call_seq: 1000 + at, result: 'x'.repeat(10_000) });
    expect(await stream.closed).toBe(1008);
    const refused = stream.frames.flatMap((frame) =>
      'answer_refused' in frame ? [frame.answer_refused.call_seq] : [],
    );
    expect(refused.toSorted((one, next) => one - next)).toEqual(refused.map((__, at) => 1000 + at));
    expect(refused.length).toBeGreaterThanOrEqual(256);
    await expectUnanswered(job_id);
  });
});

describe('a message from the client closes a stream', { tags: ['Tools-9', 'Tools-7', 'Stream-3d'] }, () => {
  const answer = { call_seq: 3, result: 1 };

  test.each<[string, () => Promise<string | null>]>([
    ['that a ticket opened', async () => null],
    ['of a credential that may only read', () => keyOf({ scopes: ['jobs:read'] })],
    ['of another principal of the tenant', () => keyOf({ principal: 'another' })],
  ])('%s', async (_, keyed) => {
    const job_id = await waiting();
    await openCalls(rig(), job_id);
    const stream = await AnsweringStream.open(rig(), job_id, { key: await keyed() });
    await stream.event('tool_call');
    stream.send(answer);
    expect(await stream.closed).toBe(1008);
    await expectUnanswered(job_id);
  });

  test('if its job has no tools', async () => {
    const { job_id } = await rig().alpha.client.submit({ language: 'bash', code: 'echo a; sleep 60' });
    const stream = await AnsweringStream.open(rig(), job_id);
    await stream.event('stdout');
    stream.send(answer);
    expect(await stream.closed).toBe(1008);
    await rig().alpha.client.cancel(job_id);
  });
});
