/** Real programs in real cells call tools. The reference client answers the calls with the caller's functions. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createServiceClient, type RunOptions, type ServiceClient, ServiceFailure } from '@vouchbox/client';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { openFaultProxy } from '../rig/fault-proxy.ts';
import { useRig } from '../rig/rig.ts';

describe.each(['namespace', 'gvisor'] as const)('with cells of %s', (provider) => {
  const rig = useRig({ provider, concurrency: '4' });
  const client = (): ServiceClient => createServiceClient({ baseUrl: rig().service.url, apiKey: rig().alpha.key });
  const run = (code: string, options: RunOptions) => client().run(code, { limits: { wall_seconds: 60 }, ...options });

  test('a program calls the caller’s functions, in each language', async () => {
    const tools = { search: async ({ query }: { query: string }) => [`about ${query}`] };
    const programs = [
      ['python', 'print(tools.search(query="é")[0])'],
      ['node', 'console.log((await tools.search({ query: "é" }))[0])'],
      ['typescript', 'const [found]: string[] = await tools.search({ query: "é" }); console.log(found)'],
      ['bash', `tool search '{"query": "é"}' | cut -d '"' -f 2`],
    ] as const;
    for (const [language, code] of programs)
      expect(await run(code, { language, tools })).toMatchObject({ stdout: 'about é\n', stderr: '', exit_code: 0 });
  });

  test("calls are answered in parallel, up to the caller's limit", async () => {
    let open = 0;
    let most = 0;
    const hold = async () => {
      open += 1;
      most = Math.max(most, open);
      await sleep(20);
      open -= 1;
      return null;
    };
    const code = 'await Promise.all(Array.from({ length: 12 }, () => tools.hold())); console.log("done")';
    expect((await run(code, { language: 'node', tools: { hold }, toolsAtOnce: 3 })).stdout).toBe('done\n');
    expect(most).toBe(3);
  });
});

describe('a tool', () => {
  const rig = useRig({ provider: 'namespace', concurrency: '4' });
  const client = (): ServiceClient => createServiceClient({ baseUrl: rig().service.url, apiKey: rig().alpha.key });
  const run = (code: string, options: RunOptions) => client().run(code, { limits: { wall_seconds: 60 }, ...options });
  /** Runs a program that calls the tool `it`, and returns what it printed: the result or the error. */
  const says = async (execute: (given: unknown) => unknown, more: RunOptions = {}) => {
    const code =
      'try:\n    print(ascii(tools.it()))\nexcept tools.ToolError as error:\n    print("error:", ascii(str(error)))';
    return (await run(code, { tools: { it: { execute } }, ...more })).stdout.trim();
  };

  test.each<[string, () => unknown, string]>([
    ['nothing', () => undefined, 'None'],
    ['NaN', () => Number.NaN, 'None'],
    ['a value with its own JSON form', () => new Date(0), "'1970-01-01T00:00:00.000Z'"],
    ['a bigint', () => 1n, "error: 'Do not know how to serialize a BigInt'"],
    ['a function', () => () => {}, "error: 'a tool cannot return a function'"],
    ['hostile text', () => '\u0000\u001b]0;x\u0007\u2028"\\\n', String.raw`'\x00\x1b]0;x\x07\u2028"\\\n'`],
    ['a prototype', () => JSON.parse('{"__proto__": {"polluted": 1}}'), "{'__proto__': {'polluted': 1}}"],
  ])('that returns %s gives the program the value as JSON represents it', async (_, execute, said) => {
    expect(await says(execute)).toBe(said);
  });

  test.each<[string, () => unknown, string]>([
    ['an error', () => Promise.reject(new Error('no such page')), "'no such page'"],
    [
      'an error before it returns a promise',
      () => {
        throw new TypeError('bad');
      },
      "'bad'",
    ],
    ['a string', () => Promise.reject('text'), "'the tool threw a string'"],
    ['an error with a lone surrogate', () => Promise.reject(new Error('a\ud800b')), String.raw`'a\ufffdb'`],
  ])('that throws %s raises a ToolError in the program', async (_, execute, said) => {
    expect(await says(execute)).toBe(`error: ${said}`);
  });

  test('whose result the service refuses raises a ToolError in the program', async () => {
    const circle: unknown[] = [];
    circle.push(circle);
    expect(await says(() => circle)).toMatch(/^error: .Converting circular structure/);
    expect(await says(() => 'x'.repeat(300_000))).toMatch(/^error: .the service refused its result: /);
    expect(await says(() => JSON.parse('['.repeat(40) + ']'.repeat(40)))).toMatch(
      /^error: .the service refused its result: /,
    );
    expect(await says(() => '\ud800')).toMatch(/^error: .the service refused its result: /);
  });

  test('that takes too long raises a ToolError in the program, and the tool’s signal aborts', async () => {
    let heard: unknown = null;
    const execute = (_: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise(() => signal.addEventListener('abort', () => (heard = signal.reason)));
    const said = await says(() => {}, { tools: { it: { execute, timeoutSeconds: 0.1 } } });
    expect(said).toBe("error: 'the tool took longer than 0.1 s'");
    expect(heard).toMatchObject({ name: 'TimeoutError' });
  });

  test('whose schema comes from a schema library gets the arguments as that library parsed them', async () => {
    const seen: unknown[] = [];
    const search = {
      description: 'Finds pages.',
      arguments: z.object({
        query: z
          .string()
          .regex(/^[a-z]+$/)
          .min(2),
        limit: z.int().default(3),
      }),
      result: z.object({ pages: z.array(z.string()) }),
      execute: (given: unknown) => seen.push(given) && { pages: ['a'] },
    };
    const code = `
print(tools.search(query="ab"))
for wrong in ({"query": "x"}, {"query": "A1"}, {"query": 7}):
    try:
        tools.search(wrong)
    except tools.ToolError as error:
        print(error)`;
    const { stdout, receipt } = await run(code, { tools: { search } });
    expect(stdout.split('\n')[0]).toBe("{'pages': ['a']}");
    expect(stdout).toMatch(/\n.*\/query.*\nthe arguments do not fit: query: Invalid string.*\n.*\/query.*\n$/);
    expect(seen).toEqual([{ query: 'ab', limit: 3 }]);
    expect(receipt.status).toBe('succeeded');
  });

  test('raises a ToolError in the program if its result does not fit its schema', async () => {
    const tools = { it: { result: { type: 'number' }, execute: () => 'text' } };
    expect(await says(() => {}, { tools })).toMatch(/^error: .the service refused its result: /);
  });

  test('runs only if the option approve allows the call, and an error in approve ends the run', async () => {
    const asked: unknown[] = [];
    const tools = { it: (given: unknown) => given };
    const code = `
for n in range(3):
    try:
        print(tools.it(n=n))
    except tools.ToolError as error:
        print(error)`;
    const approve = ({ tool, arguments: given }: { tool: string; arguments: unknown }) => {
      asked.push([tool, given]);
      return [true, false, 'not today'][asked.length - 1];
    };
    const { stdout } = await run(code, { tools, approve });
    expect(stdout).toBe("{'n': 0}\nthis call was not approved\nnot today\n");
    expect(asked).toEqual([0, 1, 2].map((n) => ['it', { n }]));
    const fails = () => Promise.reject(new RangeError('nobody is there'));
    await expect(run(code, { tools, approve: fails })).rejects.toThrow('nobody is there');
    const [job] = (await client().list({ limit: 1 })).items;
    expect(await client().waitForResult(job?.job_id as string)).toMatchObject({ status: 'cancelled' });
  });

  test("that hangs is ended together with its program when the run's signal aborts", async () => {
    const ending = new AbortController();
    let heard = false;
    const hang = (_: unknown, { signal }: { signal: AbortSignal }) => {
      signal.addEventListener('abort', () => (heard = true));
      ending.abort(new Error('enough'));
      return new Promise(() => {});
    };
    await expect(run('tools.hang()', { tools: { hang }, signal: ending.signal })).rejects.toThrow('enough');
    expect(heard).toBe(true);
    const [job] = (await client().list({ limit: 1 })).items;
    expect(await client().waitForResult(job?.job_id as string)).toMatchObject({ status: 'cancelled' });
  });

  test("that never returns lets run() return when the program's time is over", async () => {
    const { stdout, violations } = await run('print(1)\ntools.hang()', {
      tools: { hang: () => new Promise(() => {}) },
      limits: { wall_seconds: 1 },
    });
    expect(stdout).toBe('1\n');
    expect(violations.map(({ type }) => type)).toEqual(['wall_time']);
  });

  test('runs only for calls that have no answer yet, if the job was submitted earlier under the same key', async () => {
    const ran: unknown[] = [];
    const tools = { it: (given: unknown) => ran.push(given) };
    const submission = {
      language: 'python',
      code: 'print(tools.it(n=1), tools.it(n=2))',
      tools: [{ name: 'it' }],
    } as const;
    const body = { ...submission, tools: [...submission.tools], outputs: ['output/**'] };
    const { job_id } = await client().submit(body, { idempotencyKey: 'again' });
    const { calls } = await client().toolCalls(job_id, { waitSeconds: 50 });
    await client().answerToolCall(job_id, calls[0]?.seq as number, { result: 'before' });
    const result = await client().run(body, { idempotencyKey: 'again', tools });
    expect([result.job_id, result.stdout, ran]).toEqual([job_id, 'before 1\n', [{ n: 2 }]]);
  });

  test('runs once for each call, even if the stream, a call and its answer lose their connections', async () => {
    let ran = 0;
    const lost = { on: 'POST /v1/jobs/{id}/tool-calls/3', fault: 'cut_answer' } as const;
    await using proxy = await openFaultProxy(rig().service.url, [
      { on: 'GET /v1/jobs/{id}/stream', fault: 'cut_request' },
      { ...lost, count: 2 },
    ]);
    const client = createServiceClient({ baseUrl: proxy.url, apiKey: rig().alpha.key, sleep: async () => {} });
    const code = 'print(tools.it(n=1), tools.it(n=2))';
    const { stdout, history = [] } = await client.run(code, { tools: { it: () => ++ran }, history: true });
    expect([stdout, ran]).toEqual(['1 2\n', 2]);
    expect(history.flatMap(({ kind, seq }) => (kind.startsWith('tool_') ? [[kind, seq]] : []))).toEqual([
      ['tool_call', 3],
      ['tool_result', 4],
      ['tool_call', 5],
      ['tool_result', 6],
    ]);
    const requests = proxy.seen.filter(({ operation }) => operation.includes('tool-calls'));
    // The answer to the second call went over the reopened stream.
    expect(requests.map(({ operation }) => operation)).toEqual([lost.on, lost.on, lost.on]);
  });

  test('answers by HTTP requests if the client’s key may not open the stream, or if its WebSocket takes no headers', async () => {
    const refused = { on: 'GET /v1/jobs/{id}/stream', answer: { status: 403, code: 'insufficient_scope' } };
    onTestFinished(() => void vi.unstubAllGlobals());
    const inBrowser = class extends WebSocket {
      constructor(url: string, protocols: string | string[] = []) {
        super(url, Array.isArray(protocols) ? protocols : String(protocols));
      }
    };
    for (const [faults, platform] of [
      [[refused], WebSocket],
      [[], inBrowser],
    ] as const) {
      await using proxy = await openFaultProxy(rig().service.url, faults);
      vi.stubGlobal('WebSocket', platform);
      const client = createServiceClient({ baseUrl: proxy.url, apiKey: rig().alpha.key });
      const { stdout } = await client.run('print(tools.it(), tools.it())', { tools: { it: () => 1 } });
      const asked = proxy.seen.filter(({ operation }) => /stream$|tool-calls/.test(operation));
      expect([stdout, asked.slice(-3).map(({ operation }) => operation)]).toEqual([
        '1 1\n',
        ['GET /v1/jobs/{id}/stream', 'POST /v1/jobs/{id}/tool-calls/3', 'POST /v1/jobs/{id}/tool-calls/5'],
      ]);
    }
  });

  test('whose result the stream would refuse raises a ToolError in the program', async () => {
    expect(await says(() => '\ud800')).toMatch(/^error: 'the service refused its result/);
    expect(await says(() => 'x'.repeat(2 ** 19))).toMatch(/^error: 'the service refused its result/);
    expect((await says(() => 'x'.repeat(2 ** 17))).length).toBe(2 ** 17 + 2);
  });

  test('that was not declared raises a ToolError in the program, and a tool with an invalid name is refused', async () => {
    const code = 'try:\n    tools.other()\nexcept tools.ToolError as error:\n    print(error.tool)';
    expect((await run(code, { tools: { it: () => 1 } })).stdout).toBe('other\n');
    await expect(run('', { tools: { 'no name': () => 1 } })).rejects.toBeInstanceOf(ServiceFailure);
  });

  test('runs while onStdout receives output of the same program', async () => {
    const heard: string[] = [];
    const code = 'print("asks")\nprint(tools.it(n=1)["n"] + 1)';
    await run(code, { tools: { it: (given: unknown) => given }, onStdout: (text) => heard.push(text) });
    expect(heard.join('')).toBe('asks\n2\n');
  });
});

describe('the tool calls from a job that was submitted without waiting', () => {
  const rig = useRig({ provider: 'namespace', concurrency: '2' });

  test('are answered until the job ends; a later caller answers only those that have no answer', async () => {
    const { client } = rig().alpha;
    const code = 'for n in range(2):\n    print(tools.next(n=n))';
    const { job_id } = await client.submit({
      language: 'python',
      code,
      tools: [{ name: 'next' }],
      limits: { wall_seconds: 60 },
    });
    const leaving = new AbortController();
    const first = client.answerToolCalls(job_id, {
      tools: {
        next: ({ n }: { n: number }) => {
          if (n === 0) return 'first';
          leaving.abort();
          return new Promise(() => {});
        },
      },
      signal: leaving.signal,
    });
    await expect(first).rejects.toThrow(/abort/);
    await client.answerToolCalls(job_id, { tools: { next: () => 'second' } });
    expect((await client.result(job_id)).stdout).toBe('first\nsecond\n');
  });
});
