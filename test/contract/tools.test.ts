/** Spec § Tools: a program calls tools, and the caller who submitted the job answers the calls. */

import type { JobEvent, JobSubmission, Tool } from '@vouchbox/protocol';
import { openCredentials } from '@vouchbox/server';
import { describe, expect, vi } from 'vitest';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { type Answer, type Rig, useRig } from '../rig/rig.ts';
import { callingPython, openCalls } from '../rig/tool-programs.ts';

const refusalOf = ({ status, json }: Answer): [number, string] => [status, json.error.code as string];

const pathOf = (job_id: string) => `/v1/jobs/${job_id}/tool-calls`;

function answer(to: Rig, job_id: string, seq: number | string, body: object | string, key?: string): Promise<Answer> {
  return to.request(`${pathOf(job_id)}/${seq}`, { method: 'POST', body, ...(key !== undefined && { key }) });
}

async function keyFor(to: Rig, changes: object): Promise<string> {
  await using operator = await openCredentials({ dataDir: to.dataDir });
  const asked = { tenant: 'alpha', principal: 'another', scopes: null, expires_at: null, ...changes };
  return (await operator.create(asked)).key;
}

async function submitted(to: Rig, submission: object): Promise<string> {
  const { status, json } = await to.post(submission);
  expect([status, json]).toMatchObject([201, {}]);
  return json.job_id as string;
}

const dataOf = (events: readonly JobEvent[], kind: string) =>
  events.flatMap((event) => (event.kind === kind ? [event.data] : []));

describe.each(['namespace', 'gvisor', 'subprocess'] as const)('with cells of %s', (provider) => {
  const rig = useRig({ provider, concurrency: '2' });

  slowTest(
    "a program gets the caller's answer, and both the call and the answer are events",
    {
      tags: ['Tools-1', 'Tools-5', 'Tools-6', 'Tools-7', 'Tools-12', 'Events-4i'],
    },
    async () => {
      const job_id = await submitted(rig(), callingPython('print(call("search", query="q")); print(call("search"))'));
      const [first] = await openCalls(rig(), job_id);
      expect(first).toMatchObject({ tool: 'search', arguments: { query: 'q' } });
      const taken = await answer(rig(), job_id, first?.seq ?? 0, { result: { found: [1, null, 'é'] } });
      expect([taken.status, taken.json]).toMatchObject([200, { call_seq: first?.seq, replayed: false }]);
      const [second] = await openCalls(rig(), job_id, first?.seq);
      await answer(rig(), job_id, second?.seq ?? 0, { error: 'there is none' });
      const { result, events, detail } = await rig().ended(job_id);
      expect(result.stdout).toBe(
        "{'call': 1, 'result': {'found': [1, None, 'é']}}\n{'call': 2, 'error': 'there is none'}\n",
      );
      expect(dataOf(events, 'tool_call')).toEqual([
        { call: 1, tool: 'search', arguments: { query: 'q' } },
        { call: 2, tool: 'search', arguments: {} },
      ]);
      const [{ principal }] = dataOf(events, 'tool_result') as [{ principal: string }];
      expect(dataOf(events, 'tool_result')).toMatchObject([
        { call_seq: first?.seq, result: { found: [1, null, 'é'] }, principal },
        { call_seq: second?.seq, error: 'there is none', principal },
      ]);
      expect(detail.requested_spec.tools?.answered_by).toEqual([principal]);
      expect(detail.networking).toBe(provider === 'subprocess' ? 'host' : 'disabled');
    },
  );

  test('a program without tools has no file descriptor for calls', { tags: ['Tools-12'] }, async () => {
    const code = 'import os; print([fd for fd in os.listdir("/proc/self/fd") if fd in ("30", "31")])';
    expect((await rig().run({ language: 'python', code })).result.stdout).toBe('[]\n');
  });
});

describe('a submission', () => {
  const rig = useRig({ provider: 'subprocess' });
  const refused = async (changes: object) => {
    const answered = await rig().post({ ...callingPython(''), ...changes });
    const told = answered.json as { readonly error?: { readonly code: string; readonly message: string } };
    return `${told.error?.code} ${told.error?.message.split(' ')[0]}`;
  };
  const schema = (argumentsOf: object) => ({ tools: [{ name: 'search', arguments: argumentsOf }] });
  const nested = (depth: number): Record<string, unknown> => (depth === 1 ? {} : { not: nested(depth - 1) });

  test.each<[string, object, string]>([
    ['no tools in the array', { tools: [] }, 'invalid_request /tools'],
    ['65 tools', { tools: Array.from({ length: 65 }, (_, at) => ({ name: `t${at}` })) }, 'invalid_request /tools'],
    ['two tools of one name', { tools: [{ name: 'a' }, { name: 'a' }] }, 'invalid_request /tools/1/name'],
    ['a name that is a prototype', { tools: [{ name: '__proto__' }] }, 'invalid_request /tools/0/name'],
    ['a name with a space', { tools: [{ name: 'a b' }] }, 'invalid_request /tools/0/name'],
    ['limits without tools', { tools: undefined, tool_limits: {} }, 'invalid_request /tool_limits'],
    ['principals without tools', { tools: undefined, tool_principals: ['p'] }, 'invalid_request /tool_principals'],
    ['a limit of 0', { tool_limits: { calls: 0 } }, 'invalid_request /tool_limits/calls'],
    ['17 principals', { tool_principals: Array(17).fill('p') }, 'invalid_request /tool_principals'],
    ['a build', { build: {}, language: 'cpp' }, 'invalid_request /tools'],
    ['an interactor', { interactor: { language: 'bash', code: 'true' } }, 'invalid_request /tools'],
    [
      'a pattern',
      schema({ properties: { q: { pattern: '(a+)+$' } } }),
      'invalid_request /tools/0/arguments/properties/q/pattern',
    ],
    ['a format', schema({ format: 'email' }), 'invalid_request /tools/0/arguments/format'],
    [
      'patterns of names',
      schema({ patternProperties: { a: {} } }),
      'invalid_request /tools/0/arguments/patternProperties',
    ],
    ['a reference to elsewhere', schema({ $ref: 'https://a.example/b' }), 'invalid_request /tools/0/arguments/$ref'],
    ['a reference to nothing', schema({ $ref: '#/$defs/a' }), 'invalid_request /tools/0/arguments/$ref'],
    ['another name of a schema', schema({ $id: 'https://a.example/b' }), 'invalid_request /tools/0/arguments/$id'],
    ['a member of another type', schema({ required: 'q' }), 'invalid_request /tools/0/arguments/required'],
    ['a schema of depth 17', schema(nested(17)), `invalid_request /tools/0/arguments${'/not'.repeat(16)}`],
    ['schemas of 16 KiB and one byte', schema({ title: 'x'.repeat(16 * 1024 - 11) }), 'payload_too_large /tools'],
  ])('is refused with %s', { tags: ['Tools-1', 'Tools-2', 'Tools-3'] }, async (_, changes, problem) => {
    expect(await refused(changes)).toBe(problem);
  });

  test('has its tools in requested_spec; the receipt has their limits, lowered to the ceilings', {
    tags: ['Tools-2', 'Tools-3', 'Tools-4'],
  }, async () => {
    const tools: Tool[] = [
      { name: 'a', description: 'd', arguments: nested(16), result: { properties: { pattern: {}, $ref: true } } },
      { name: 'b-_9', arguments: { title: 'x'.repeat(16 * 1024 - 200) } },
    ];
    const tool_limits = { calls: 1e9, call_bytes: 10.9 };
    const submission = callingPython('print(1)', { tools, tool_limits, tool_principals: ['helper', 'helper'] });
    const { detail, result } = await rig().run(submission);
    expect(result.stdout).toBe('1\n');
    const limits = { calls: 10_000, call_bytes: 10, total_bytes: 4 * 1024 * 1024 };
    expect(detail.requested_spec.tools).toMatchObject({ tools, limits, answered_by: [expect.any(String), 'helper'] });
    expect(detail.receipt).toMatchObject({ tool_limits: limits });
    const { policy_sha256 } = detail.receipt as { policy_sha256: string };
    const other = await rig().run({ ...submission, tools: tools.slice(0, 1) });
    expect(other.detail.receipt).not.toMatchObject({ policy_sha256 });
  });

  test('is refused under a used idempotency key if its tools differ', async () => {
    const { client } = rig().alpha;
    const options = { idempotencyKey: 'tools' };
    await client.submit(callingPython('print(1)'), options);
    await client.submit(callingPython('print(1)'), options);
    const other = client.submit(callingPython('print(1)', { tools: [{ name: 'other' }] }), options);
    await expect(other).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });
});

describe('an answer', () => {
  const rig = useRig({ provider: 'subprocess' });
  const waiting = (more: Partial<JobSubmission> = {}) =>
    submitted(rig(), callingPython('print(call("search", q=1)); told()', more));

  test('is accepted once; afterwards, the same answer succeeds again but a different answer is refused', {
    tags: ['Tools-6', 'Errors-11a'],
  }, async () => {
    const job_id = await waiting();
    const [call] = await openCalls(rig(), job_id);
    const all = await Promise.all([1, 2, 3, 4].map((result) => answer(rig(), job_id, call?.seq ?? 0, { result })));
    expect(all.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 409, 409, 409]);
    const won = all.findIndex(({ status }) => status === 200) + 1;
    const again = await answer(rig(), job_id, call?.seq ?? 0, { result: won });
    expect(again.json).toEqual({ ...all[won - 1]?.json, replayed: true });
    expect(refusalOf(await answer(rig(), job_id, call?.seq ?? 0, { error: 'no' }))).toEqual([
      409,
      'tool_call_answered',
    ]);
    const written = async () => dataOf(await Array.fromAsync(rig().alpha.client.events(job_id)), 'stdout');
    await vi.waitFor(async () => expect(await written()).toHaveLength(1), { timeout: 30_000 });
    await rig().alpha.client.cancel(job_id);
    const { events, result } = await rig().ended(job_id);
    expect(dataOf(events, 'tool_result')).toHaveLength(1);
    expect(result.stdout).toContain(`'result': ${won}`);
    expect(refusalOf(await answer(rig(), job_id, 99, { result: 1 }))).toEqual([404, 'tool_call_not_found']);
  });

  test('is accepted only from principals that are named in the submission and may submit jobs', {
    tags: ['Tools-7'],
  }, async () => {
    const job_id = await waiting({ tool_principals: ['helper'] });
    const [call] = await openCalls(rig(), job_id);
    const asked = async (key: string) => refusalOf(await answer(rig(), job_id, call?.seq ?? 0, { result: 1 }, key));
    const listed = async (key: string) => refusalOf(await rig().request(pathOf(job_id), { key }));
    const another = await keyFor(rig(), {});
    const reader = await keyFor(rig(), { principal: 'helper', scopes: ['jobs:read'] });
    expect(await asked(rig().beta.key)).toEqual([404, 'job_not_found']);
    expect(await listed(rig().beta.key)).toEqual([404, 'job_not_found']);
    expect(await asked(another)).toEqual([403, 'principal_not_allowed']);
    expect(await listed(another)).toEqual([403, 'principal_not_allowed']);
    expect(await asked(reader)).toEqual([403, 'insufficient_scope']);
    expect(await listed(reader)).toEqual([403, 'insufficient_scope']);
    const helper = await keyFor(rig(), { principal: 'helper', scopes: ['jobs:submit'] });
    expect((await rig().request(pathOf(job_id), { key: helper })).json.calls).toHaveLength(1);
    expect((await answer(rig(), job_id, call?.seq ?? 0, { result: 1 }, helper)).status).toBe(200);
    await rig().alpha.client.cancel(job_id);
    expect(dataOf((await rig().ended(job_id)).events, 'tool_result')).toMatchObject([{ principal: 'helper' }]);
  });

  slowTest.each<[string, object | string, [number, string]]>([
    ['nothing', {}, [400, 'invalid_request']],
    ['both a result and an error', { result: 1, error: 'e' }, [400, 'invalid_request']],
    ['an error that is no text', { error: 1 }, [400, 'invalid_request']],
    ['another member', { result: 1, principal: 'root' }, [400, 'invalid_request']],
    ['__proto__ beside its result', '{"result":1,"__proto__":{"error":"e"}}', [400, 'invalid_request']],
    ['one member twice', '{"result":1,"result":2}', [400, 'invalid_json']],
    ['a lone surrogate', '{"result":"\\ud800"}', [400, 'invalid_json']],
    ['no JSON', '{"result":1', [400, 'invalid_json']],
    ['an array', '[{"result":1}]', [400, 'invalid_request']],
    ['33 levels', `{"result":${'['.repeat(33)}${']'.repeat(33)}}`, [400, 'invalid_json']],
    ['more bytes than an answer may have', { result: 'x'.repeat(1000) }, [413, 'payload_too_large']],
    ['more than a body may have', { result: 'x'.repeat(1024 * 1024) }, [413, 'payload_too_large']],
  ])('with %s is refused, and its call stays open', async (_, body, refusal) => {
    const job_id = await waiting({ tool_limits: { call_bytes: 1000 } });
    const [call] = await openCalls(rig(), job_id);
    expect(refusalOf(await answer(rig(), job_id, call?.seq ?? 0, body))).toEqual(refusal);
    expect(await openCalls(rig(), job_id)).toEqual([call]);
    await rig().alpha.client.cancel(job_id);
  });

  test('that exceeds the size limit on bodies is refused, and the message states the size limit on answers', async () => {
    const job_id = await waiting();
    const [call] = await openCalls(rig(), job_id);
    const { json } = await answer(rig(), job_id, call?.seq ?? 0, { result: 'x'.repeat(2 * 1024 * 1024) });
    expect(json.error.message).toBe(
      "The body is larger than 1048576 bytes, and an answer may have call_bytes of the job's tool_limits, 262144 at most.",
    );
    await rig().alpha.client.cancel(job_id);
  });

  test('may contain any name and any character, and reaches the program and the history unchanged', async () => {
    const job_id = await submitted(
      rig(),
      callingPython('answer = answers if not begin("search") else told()\nimport sys\nprint(ascii(answer))'),
    );
    const [call] = await openCalls(rig(), job_id);
    const body = '{"result":{"__proto__":{"polluted":1},"constructor":"\\u001b[2J\\u0000","b":"\\u2028\\r\\n","":[]}}';
    expect((await answer(rig(), job_id, call?.seq ?? 0, body)).status).toBe(200);
    const { result, events } = await rig().ended(job_id);
    expect(result.stdout).toContain(
      "{'': [], '__proto__': {'polluted': 1}, 'b': '\\u2028\\r\\n', 'constructor': '\\x1b[2J\\x00'}",
    );
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expect(JSON.stringify(dataOf(events, 'tool_result')[0])).toContain('"result":{"":[],"__proto__":{"polluted":1},');
  });

  test('that comes after the end of the job is refused and changes nothing', {
    tags: ['Tools-11', 'Errors-11a'],
  }, async () => {
    const job_id = await waiting({ limits: { wall_seconds: 0.5 } });
    const [call] = await openCalls(rig(), job_id);
    const { events, result } = await rig().ended(job_id);
    expect(result.status).toBe('timed_out');
    expect(result.violations[0]?.message).toContain('while a call of a tool was open');
    expect(refusalOf(await answer(rig(), job_id, call?.seq ?? 0, { result: 1 }))).toEqual([409, 'job_terminal']);
    expect((await rig().request(pathOf(job_id))).json).toEqual({ calls: [], next_cursor: null });
    expect(events.at(-1)?.kind).toBe('finished');
  });

  test('is no longer awaited once the job has ended: a wait for calls is answered at once', {
    tags: ['Tools-5'],
  }, async () => {
    const job_id = await submitted(rig(), callingPython('print(1)'));
    const { json } = await rig().request(`${pathOf(job_id)}?wait_seconds=300`);
    expect(json).toEqual({ calls: [], next_cursor: null });
  });

  test('must fit the result schema, and a call’s arguments must fit the argument schema', {
    tags: ['Tools-10'],
  }, async () => {
    const argumentsOf = {
      type: 'object',
      properties: { q: { $ref: '#/$defs/text' } },
      required: ['q'],
      $defs: { text: { type: 'string', minLength: 1 } },
    };
    const tools = [{ name: 'search', arguments: argumentsOf, result: { type: 'array', items: { type: 'integer' } } }];
    const code =
      'print(call("search", q="")["error"]); print(call("search")["error"]); print(call("seek")["error"]); print(call("search", q="a")["result"])';
    const job_id = await submitted(rig(), callingPython(code, { tools }));
    const [call] = await openCalls(rig(), job_id);
    expect(call).toMatchObject({ arguments: { q: 'a' } });
    const seq = call?.seq ?? 0;
    const misfit = await answer(rig(), job_id, seq, { result: [1, 'x'] });
    expect(refusalOf(misfit)).toEqual([422, 'tool_result_misfit']);
    expect(misfit.json.error.message).toContain('/1');
    expect((await answer(rig(), job_id, seq, { result: [1, 2] })).status).toBe(200);
    const { result, events } = await rig().ended(job_id);
    expect(result.stdout).toMatch(
      /^the arguments do not fit: at \/q: .*\nthe arguments do not fit: .*"q".*\nthe submission names no tool of this name\n\[1, 2\]\n$/,
    );
    expect(dataOf(events, 'tool_call')).toMatchObject([
      { refused: expect.any(String) },
      { refused: expect.any(String) },
      { refused: expect.any(String) },
      { arguments: { q: 'a' } },
    ]);
    expect(refusalOf(await answer(rig(), job_id, 3, { result: [] }))).toEqual([404, 'tool_call_not_found']);
  });
});
