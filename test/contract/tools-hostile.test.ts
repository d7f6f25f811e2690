/** Spec § Tools: a program or caller that breaks the rules harms only its own job. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceClient } from '@vouchbox/client';
import type { JobSubmission } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { Command } from '../rig/command.ts';
import { leftoversOf } from '../rig/leftovers.ts';
import { Rig, useRig } from '../rig/rig.ts';
import { AnsweringStream, callingPython } from '../rig/tool-programs.ts';

const SLEEP = '\nimport time; time.sleep(60)';

describe.each(['namespace', 'gvisor'] as const)('in cells of %s', (provider) => {
  const rig = useRig({ provider, concurrency: '3' });
  const ran = async (code: string, more: Partial<JobSubmission> = {}) => {
    const { result, events } = await rig().run(callingPython(code + SLEEP, more));
    return { result, events, types: result.violations.map(({ type }) => type) };
  };

  test.each<[string, string, string, Partial<JobSubmission>?]>([
    ['floods its descriptor without a line feed', 'while True: os.write(31, b"x" * 65536)', 'tool_call_size'],
    ['makes more calls than it may', 'while True: begin("search")', 'tool_calls', { tool_limits: { calls: 20 } }],
    [
      'writes more bytes of calls than it may',
      'while True: begin("search", x="x" * 10000)',
      'tool_total_size',
      { tool_limits: { total_bytes: 100_000 } },
    ],
    ['writes a line that is no call', 'write(b"call me\\n")', 'tool_protocol'],
    ['writes an answer', 'write(b\'{"call": 1, "result": 1}\\n\')', 'tool_protocol'],
    ['writes an event', 'write(b\'{"kind": "tool_result", "data": {"call_seq": 3}}\\n\')', 'tool_protocol'],
    ['writes a call with one member twice', 'write(b\'{"call": 1, "call": 2, "tool": "search"}\\n\')', 'tool_protocol'],
    ['writes bytes that are not UTF-8', 'write(b\'{"call": 1, "tool": "\\xff"}\\n\')', 'tool_protocol'],
    [
      'writes arguments that nest too deep',
      'write(b\'{"call": 1, "tool": "search", "arguments": \' + b"[" * 9999 + b"\\n")',
      'tool_protocol',
    ],
  ])('a program that %s is ended, and a violation says why', async (_, code, type, more = {}) => {
    const { result, types } = await ran(code, more);
    expect([result.status, types]).toEqual(['failed', [type]]);
  });

  test('if four processes of a program write calls concurrently, all calls are read', async () => {
    const code = `
for child in range(4):
    if os.fork() == 0:
        for n in range(10): os.write(31, b'{"call": %d, "tool": "search"}\\n' % (child * 100 + n))
        os._exit(0)
for child in range(4): os.wait()
print("done", flush=True)`;
    const { job_id } = await rig().alpha.client.submit(callingPython(code));
    await rig().ended(job_id);
    const { events, result } = await rig().ended(job_id);
    const numbers = events.flatMap(({ kind, data }) => (kind === 'tool_call' ? [(data as { call: number }).call] : []));
    expect([result.stdout, new Set(numbers).size]).toEqual(['done\n', 40]);
  });

  test('a program that never reads the answers to its calls ends normally', async () => {
    const { job_id } = await rig().alpha.client.submit(
      callingPython('for n in range(40): begin("search")\nimport sys; sys.stdin.read()\nprint("over")'),
    );
    const stream = await AnsweringStream.open(rig(), job_id);
    for (let at = 1; at <= 40; at++)
      stream.send({ call_seq: (await stream.event('tool_call', at)).seq, result: 'x'.repeat(90_000) });
    const { result, events } = await rig().ended(job_id);
    expect(result.status).toBe('succeeded');
    expect(events.filter(({ kind }) => kind === 'tool_call')).toHaveLength(40);
  });

  test('two programs whose calls have the same numbers get only their own answers', {
    tags: ['Tools-7'],
  }, async () => {
    const code = 'for n in range(20): begin("search", n=n)\nprint(sorted(told()["result"] for n in range(20)))';
    const ids = await Promise.all(
      [0, 1].map(async () => (await rig().alpha.client.submit(callingPython(code))).job_id),
    );
    const streams = await Promise.all(ids.map((id) => AnsweringStream.open(rig(), id)));
    for (let at = 1; at <= 20; at++)
      for (const [which, stream] of streams.entries())
        stream.send({ call_seq: (await stream.event('tool_call', at)).seq, result: `${which}` });
    for (const [which, id] of ids.entries()) {
      const { result } = await rig().ended(id);
      expect(result.stdout).toBe(`[${Array(20).fill(`'${which}'`).join(', ')}]\n`);
    }
  });

  test('answers may be given in any order, and each answer reaches its own call', async () => {
    const code =
      'for n in range(10): begin("search", n=n)\nprint([(t["call"], t["result"]) for t in [told() for n in range(10)]])';
    const { job_id } = await rig().alpha.client.submit(callingPython(code));
    const stream = await AnsweringStream.open(rig(), job_id);
    await stream.event('tool_call', 10);
    const calls = stream.frames.flatMap((frame) => ('kind' in frame && frame.kind === 'tool_call' ? [frame] : []));
    for (const { seq, data } of calls.toReversed())
      stream.send({ call_seq: seq, result: (data as { arguments: { n: number } }).arguments.n });
    const pairs = Array.from({ length: 10 }, (_, at) => `(${10 - at}, ${9 - at})`);
    expect((await rig().ended(job_id)).result.stdout).toBe(`[${pairs.join(', ')}]\n`);
  });
});

test('a schema that takes forever to check delays only calls of its own tenant', {
  tags: ['Tools-10'],
}, async () => {
  const own = await Rig.start({ provider: 'subprocess', concurrency: '3' });
  const doubling = {
    $defs: Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [
        `a${at}`,
        { allOf: [{ $ref: `#/$defs/a${at + 1}` }, { $ref: `#/$defs/a${at + 1}` }] },
      ]),
    ),
  };
  const slow = { ...doubling, $defs: { ...doubling.$defs, a40: {} }, $ref: '#/$defs/a0' };
  const endless = { $ref: '#' };
  const tools = [
    { name: 'slow', arguments: slow },
    { name: 'endless', arguments: endless },
  ];
  const code = 'print({call(tool)["error"] for tool in ["slow", "endless"] * 5})';
  const hostile = own.run(callingPython(code, { tools }));
  const { client } = own.beta;
  const { job_id } = await client.submit(
    callingPython('print(call("search", q=1)["result"])', {
      tools: [{ name: 'search', arguments: { required: ['q'] } }],
    }),
  );
  const { calls } = await client.toolCalls(job_id, { waitSeconds: 60 });
  await client.answerToolCall(job_id, calls[0]?.seq ?? 0, { result: 1 });
  expect((await client.waitForResult(job_id)).stdout).toBe('1\n');
  expect((await hostile).result.stdout).toBe("{'the arguments could not be checked in time'}\n");
  expect(await own.stop()).toEqual([]);
});

test('a job whose service is killed while a call is open ends, and later answers are refused', {
  tags: ['Tools-8'],
}, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-tools-killed-'));
  const serving = async () => {
    const service = new Command(['serve', '--port', '0', '--data-dir', dataDir, '--provider', 'namespace'], {
      env: { SERVICE_LEGACY_KEYS: 'alpha=key-of-alpha', SERVICE_LOG_LEVEL: 'silent', SERVICE_CANARIES: 'off' },
    });
    const [, baseUrl = ''] = await service.shows(/^listening on (http:\/\/\S+)\r?\n/m);
    return { service, client: createServiceClient({ baseUrl, apiKey: 'key-of-alpha' }) };
  };
  const { service, client } = await serving();
  await using _first = service;
  const code = 'begin("search"); begin("search"); print(told(), flush=True); told()';
  const { job_id } = await client.submit(callingPython(code));
  const seqs = async () => (await client.toolCalls(job_id)).calls.map(({ seq }) => seq);
  await expect.poll(async () => (await seqs()).length, { timeout: 60_000 }).toBe(2);
  const [first = 0, second = 0] = await seqs();
  await client.answerToolCall(job_id, first, { result: 'once' });
  for await (const { kind } of client.follow(job_id)) if (kind === 'stdout') break;
  service.kill('SIGKILL');
  await service.ended();
  const after = await serving();
  await using _second = after.service;
  expect(await after.client.detail(job_id)).toMatchObject({ status: 'error', terminal_reason: 'server_restarted' });
  await expect(after.client.answerToolCall(job_id, second, { result: 1 })).rejects.toMatchObject({
    code: 'job_terminal',
  });
  expect(await after.client.answerToolCall(job_id, first, { result: 'once' })).toMatchObject({ replayed: true });
  expect(await after.client.toolCalls(job_id)).toEqual({ calls: [], next_cursor: null });
  const kinds = (await Array.fromAsync(after.client.events(job_id))).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind.startsWith('tool'))).toEqual(['tool_call', 'tool_call', 'tool_result']);
  after.service.kill('SIGTERM');
  expect((await after.service.ended()).code).toBe(0);
  expect(leftoversOf(dataDir)).toEqual([]);
  rmSync(dataDir, { recursive: true, force: true });
});
