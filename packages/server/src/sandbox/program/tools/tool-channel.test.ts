import { LIMIT_DEFAULTS, outputText } from '@vouchbox/protocol';
import { describe, expect, it } from 'vitest';
import type { ToolCall } from '../../sandbox.ts';
import { useToolCells, WAYS, type Way } from './tool-cells.fixture.ts';

const { opened, run } = useToolCells();

const exited = { kind: 'exited', exit_code: 0 };

/** Calls one tool and prints the line that comes back. */
const ONCE = {
  python: `
import os
os.write(31, b'{"call": 7, "tool": "echo", "arguments": {"text": "\\\\u00e9"}}\\n')
print(os.fdopen(30).readline(), end="")`,
  node: `
const fs = require('node:fs');
fs.writeSync(31, JSON.stringify({ call: 7, tool: 'echo', arguments: { text: 'é' } }) + '\\n');
const line = Buffer.alloc(200);
process.stdout.write(line.subarray(0, fs.readSync(30, line)));`,
  bash: `
echo '{"call": 7, "tool": "echo", "arguments": {"text": "é"}}' >&31
read -r line <&30
echo "$line"`,
  typescript: `
import fs from 'node:fs';
fs.writeSync(31, JSON.stringify({ call: 7, tool: 'echo', arguments: { text: 'é' } }) + '\\n');
const line: Buffer = Buffer.alloc(200);
process.stdout.write(line.subarray(0, fs.readSync(30, line)));`,
} as const;

describe.each(Object.keys(WAYS) as Way[])('in %s', (way) => {
  it.each(Object.keys(ONCE) as (keyof typeof ONCE)[])(
    'a program in %s calls a tool and reads its answer',
    async (language) => {
      const { stdout, calls, ending } = await run(way, language, ONCE[language]);
      expect({ stdout, calls, ending }).toEqual({
        stdout: '{"call":7,"result":{"text":"é"}}\n',
        calls: [{ call: 7, tool: 'echo', arguments: { text: 'é' } }],
        ending: exited,
      });
    },
  );

  it('a Node program with another heap size can use the channel', async () => {
    const { stdout, ending } = await run(way, 'node', ONCE.node, { more: { mem_mb: 512 } });
    expect({ stdout, ending }).toEqual({ stdout: '{"call":7,"result":{"text":"é"}}\n', ending: exited });
  });

  it('calls may be open at once, and are answered in any order', async () => {
    const waiting: ToolCall[] = [];
    const code = `
import os
for n in range(300):
    os.write(31, b'{"call": %d, "tool": "t"}\\n' % n)
answers = os.fdopen(30)
print([int(answers.readline().split(":")[1].split(",")[0]) for _ in range(300)] == list(range(299, -1, -1)))`;
    const { stdout, ending } = await run(way, 'python', code, {
      limits: { calls: 300 },
      tool(call, answer) {
        waiting.push(call);
        if (waiting.length === 300) for (const { call: n } of waiting.reverse()) answer(n, { result: null });
      },
    });
    expect({ stdout, ending }).toEqual({ stdout: 'True\n', ending: exited });
  });

  it('a call is made even if the program does not wait for the answer', async () => {
    const { calls, ending } = await run(way, 'bash', `echo '{"call": 0, "tool": "log"}' >&31`);
    expect({ calls, ending }).toEqual({ calls: [{ call: 0, tool: 'log', arguments: {} }], ending: exited });
  });

  it('a child of the program can make calls, and no pipe is left open', async () => {
    const { calls, ending } = await run(
      way,
      'bash',
      `bash -c 'echo "{\\"call\\": 1, \\"tool\\": \\"t\\"}" >&31' & wait`,
    );
    expect({ calls: calls.length, ending }).toEqual({ calls: 1, ending: exited });
  });

  it.each([
    [
      'one call more than it may make',
      { calls: 2 },
      'for i in 1 2 3; do echo "{\\"call\\":$i,\\"tool\\":\\"t\\"}" >&31; done',
      2,
      'tool_calls',
    ],
    ['a call with one byte too many', { call_bytes: 24 }, `echo '{"call":1, "tool":"tool"}' >&31`, 0, 'tool_call_size'],
    ['a line that never ends', {}, 'head -c 1000000 /dev/zero >&31', 0, 'tool_call_size'],
    [
      'more bytes than all may have',
      { total_bytes: 40 },
      'for i in 1 2; do echo "{\\"call\\":$i, \\"tool\\":\\"tool\\"}" >&31; done',
      1,
      'tool_total_size',
    ],
    ['something that is no call', {}, 'echo hello >&31', 0, 'tool_protocol'],
  ] as const)('a program that writes %s is ended', async (_, limits, script, calls, type) => {
    const found = await run(way, 'bash', `${script}; read -r line <&30`, { limits, tool: () => {} });
    expect(found.ending).toEqual({ kind: 'signaled', signal: 'SIGKILL' });
    expect({ calls: found.calls.length, violations: found.violations.map(({ type: each }) => each) }).toEqual({
      calls,
      violations: [type],
    });
  });

  it('a call of exactly the maximum size is accepted', async () => {
    const script = `echo '{"call":1, "tool":"tool"}' >&31; read -r line <&30`;
    const { calls, ending } = await run(way, 'bash', script, { limits: { call_bytes: 25, total_bytes: 25 } });
    expect({ calls: calls.length, ending }).toEqual({ calls: 1, ending: exited });
  });

  it('a cell that is dropped before it gets a program closes its pipes', async () => {
    const provider = opened(way);
    const kind = { language: 'bash', runtime: null, hasTools: true } as const;
    await using cell = await provider.prepare(kind);
    expect(provider.originOf(kind)).toBeNull();
    expect(cell.isWhole()).toBe(true);
  });

  it('a program without tools has no descriptors of the channel', async () => {
    await using cell = await opened(way).prepare({ language: 'bash', runtime: null });
    const code = 'for n in 28 29 30 31; do [ -e /proc/self/fd/$n ] && echo $n; done; echo none';
    const program = { language: 'bash', code, stdin: null, args: [], env: {}, files: [], outputs: [] } as const;
    const loaded = await cell.handOver({ ...program, limits: LIMIT_DEFAULTS });
    let stdout = '';
    const running = loaded.release((_, records) => {
      for (const record of records) stdout += outputText(record);
    });
    await running.collect();
    expect(stdout).toBe('none\n');
  });
});

describe('a line that is not a call', () => {
  it.each([
    ['[]', 'is no JSON object'],
    ['{"call": 1, "call": 2, "tool": "t"}', 'names a member twice'],
    ['{"call": "1", "tool": "t"}', 'has no whole number as its "call"'],
    ['{"call": 1.5, "tool": "t"}', 'has no whole number as its "call"'],
    ['{"call": 1, "tool": 2}', 'has no name of a tool as its "tool"'],
    ['{"call": 1, "tool": "t", "result": 2}', 'has members beside'],
    ['{"call": 1, "tool": "t", "arguments": "\\ud800"}', 'holds a lone surrogate'],
    ['{"call": 1, "tool": "t", "arguments": 12345678901234567890123}', 'that a double cannot hold'],
    [`{"call": 1, "tool": "t", "arguments": ${'['.repeat(40)}${']'.repeat(40)}}`, 'nests deeper than'],
    ['\xff', 'is not UTF-8'],
  ])('%s is reported with its fault', async (line, problem) => {
    const bytes = [...Buffer.from(line, line === '\xff' ? 'latin1' : 'utf8')]
      .map((byte) => `\\x${byte.toString(16)}`)
      .join('');
    const found = await run('a forked cell', 'bash', `printf '${bytes}\\n' >&31; read -r line <&30`);
    expect(found.violations.map(({ type }) => type)).toEqual(['tool_protocol']);
    expect(found.violations[0]?.message).toContain(problem);
  });

  it('the arguments of a call may have a member named __proto__ like any other', async () => {
    const line = `{"call": 1, "tool": "t", "arguments": {"__proto__": {"polluted": true}}}`;
    const { stdout } = await run('a forked cell', 'bash', `echo '${line}' >&31; read -r line <&30; echo "$line"`);
    expect(stdout).toBe('{"call":1,"result":{"__proto__":{"polluted":true}}}\n');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
