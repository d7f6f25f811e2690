/** A transcript answers a second run's tool calls as before. The run fails at the first call that differs. */
import { createServiceClient, EvidenceFailure, type JobEvent, type RunOptions, type RunResult } from '@vouchbox/client';
import { Transcript } from '@vouchbox/evidence';
import { describe, expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';
import { onceOpen } from '../rig/tool-programs.ts';

describe.each(['namespace', 'gvisor'] as const)('with cells of %s', (provider) => {
  const rig = useRig({ provider, concurrency: '2' });
  const client = () => createServiceClient({ baseUrl: rig().service.url, apiKey: rig().alpha.key });
  const run = (code: string, options: RunOptions) =>
    client().run(code, { language: 'node', limits: { wall_seconds: 60 }, history: true, ...options });
  const transcriptOf = ({ history = [] }: RunResult): string => {
    const transcript = new Transcript();
    for (const event of history) expect(transcript.add(event)).toBeNull();
    return transcript.text();
  };

  /** Calls two tools at once; the second one answers first. Then the program makes three calls that fail, and one more call. */
  const program = `
const said = [];
const [slow, quick] = ['slow', 'quick'].map((name, at) => tools[name]({ at }).then(() => name));
said.push(await Promise.race([slow, quick]));
await tools.release();
said.push(await slow);
for (const call of [() => tools.fails(), () => tools.quick({ at: 'x' }), () => tools.absent({})])
  await call().catch(({ message }) => said.push(message));
console.log(said.join('; '), await tools.quick({ at: -0.5 }));`;
  const at = { type: 'object', properties: { at: { type: 'number' } } };
  const tools = () => {
    const released = Promise.withResolvers<void>();
    return {
      slow: () => released.promise,
      release: () => released.resolve(),
      quick: {
        arguments: at,
        execute: (given: unknown) => [given, '\u001b\u2028é'],
      },
      fails: () => Promise.reject(new Error('no page')),
    };
  };

  test('a program that runs with the option replay gets the recorded answers, and no tool runs', async () => {
    const first = await run(program, { tools: tools() });
    expect(first.stdout).toMatch(/^quick; slow; no page; the arguments do not fit.*; the submission names no tool/);
    const never = () => expect.unreachable('a tool ran');
    const again = { slow: never, release: never, quick: { arguments: at, execute: never }, fails: never };
    const second = await run(program, { tools: again, approve: never, replay: first });
    expect([second.stdout, second.exit_code]).toEqual([first.stdout, 0]);
    expect(transcriptOf(second)).toBe(transcriptOf(first));
  });
});

describe('client.run with the option replay', () => {
  const rig = useRig({ provider: 'namespace', concurrency: '2' });
  const client = () => createServiceClient({ baseUrl: rig().service.url, apiKey: rig().alpha.key });
  const run = (code: string, options: RunOptions = {}) =>
    client().run(code, { limits: { wall_seconds: 60 }, history: true, ...options });
  const add = async ({ a, b }: { a: number; b: number }) => a + b;
  const sums = 'for n in range(3):\n    print(tools.add(a=n, b=1))';
  const recorded = () => run(sums, { tools: { add } });

  test('needs no tools if the service refused no call, and also accepts a list of events', async () => {
    const { job_id, stdout } = await recorded();
    const replay: JobEvent[] = await Array.fromAsync(client().events(job_id));
    expect((await run(sums, { replay })).stdout).toBe(stdout);
  });

  test.each<[string, string, string, RegExp]>([
    [
      'other arguments',
      'cancelled',
      sums.replace('b=1', 'b=n or 1'),
      /^call 3 is .*"b":2.*, and the transcript has .*"b":1/,
    ],
    [
      'another tool',
      'cancelled',
      `${sums.replace('3', '1')}\ntry:\n    tools.sub(a=1)\nfinally:\n    __import__("time").sleep(50)`,
      /^call 2 is .*"sub".*, and the transcript has .*"add"/,
    ],
    ['one call more', 'cancelled', sums.replace('3', '4'), /^call 4 is .*, and the transcript has no such call/],
    ['a call less', 'succeeded', sums.replace('3', '2'), /^the program ended before call 3 of the transcript, .*"add"/],
  ])('fails if the second run has %s, and says which call differs', async (_name, end, code, message) => {
    const first = await recorded();
    const failure = await run(code, { replay: first }).then(
      () => null,
      (error: unknown) => error as EvidenceFailure,
    );
    expect(failure).toBeInstanceOf(EvidenceFailure);
    expect(failure).toMatchObject({ check: 'transcript', message: expect.stringMatching(message) as string });
    const { status } = await client().waitForResult(failure?.job_id as string);
    expect(status).toBe(end);
  });

  test('accepts concurrent calls in another order, and gives each its own answer', async () => {
    const doubles = (first: string, last: number) => `
import asyncio
async def main():
    return await asyncio.gather(*(tools.double(n=n) for n in ${first}))
print(sorted(asyncio.run(main())), tools.double(n=${last}))`;
    const first = await run(doubles('range(4)', 4), { tools: { double: onceOpen(4, ({ n }) => 2 * n) } });
    const second = await run(doubles('(2, 0, 3, 1)', 4), { replay: first });
    expect([first.stdout, second.stdout]).toEqual(['[0, 2, 4, 6] 8\n', '[0, 2, 4, 6] 8\n']);
    const tooEarly = run(doubles('(3, 4)', 0), { replay: first });
    await expect(tooEarly).rejects.toThrow(/^call 2 is .*"n":4.*"n":0.*, or one of 2 others that were open then$/);
  });

  test('leaves a call open that nobody answered in the recorded run', async () => {
    const open = { tools: { add: () => new Promise(() => {}) }, limits: { wall_seconds: 2 } };
    const first = await run(sums, open);
    const second = await run(sums, { replay: first, limits: { wall_seconds: 2 } });
    expect([first.status, second.status]).toEqual(['timed_out', 'timed_out']);
  });

  test('accepts a run without calls, and refuses a result without history', async () => {
    const quiet = await run('print(1)');
    expect((await run('print(1)', { replay: quiet })).stdout).toBe('1\n');
    const before = (await client().list()).items.length;
    await expect(run(sums, { replay: {} })).rejects.toThrow('there is no history to replay');
    expect((await client().list()).items.length).toBe(before);
  });
});
