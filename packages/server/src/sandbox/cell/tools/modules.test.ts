/** What programs write to call a tool, in each language and each kind of cell. */
import { describe, expect, it } from 'vitest';
import { type Answer, useToolCells, WAYS, type Way } from '../../program/tools/tool-cells.fixture.ts';
import type { ToolCall } from '../../sandbox.ts';

const { run } = useToolCells();
const exited = { kind: 'exited', exit_code: 0 };

/**
 * `fail` fails. Calls of `hold` are answered once two are open, the later call first. A call of `turn` is answered when a call
 * with a higher `n` comes; the default of `n` is the number of the call. A call with `last` is answered at once, and so are all
 * waiting calls. Every other tool returns its arguments.
 */
function tools() {
  const held: number[] = [];
  let turns: { readonly call: number; readonly n: number }[] = [];
  return ({ call, tool, arguments: given }: ToolCall, answer: Answer): void => {
    if (tool === 'fail') answer(call, { error: 'it said "no"\n\u001b[31mé😀' });
    else if (tool === 'turn') {
      const { n = call, last } = given as { readonly n?: number; readonly last?: boolean };
      turns.push({ call, n });
      const isDue = (turn: (typeof turns)[number]) => last === true || turn.n < n;
      for (const turn of turns.filter(isDue)) answer(turn.call, { result: null });
      turns = turns.filter((turn) => !isDue(turn));
    } else if (tool !== 'hold') answer(call, { result: given });
    else if (held.push(call) === 2)
      for (const each of held.splice(0).reverse()) answer(each, { result: each === call });
  };
}

const PROGRAMS = {
  'python, waiting': [
    'python',
    `
import tools as imported
from tools import echo, ToolError
assert imported is tools
print(tools.echo(query="é", n=[1, 2.5, None, True]), echo(), echo({"a": {"__proto__": 1}}), getattr(tools, "a-b")(x=1))
try:
    tools.fail()
except tools.ToolError as error:
    print(error.tool, ascii(str(error)), ToolError is tools.ToolError)`,
    `{'query': 'é', 'n': [1, 2.5, None, True]} {} {'a': {'__proto__': 1}} {'x': 1}
fail 'it said "no"\\n\\x1b[31m\\xe9\\U0001f600' True
`,
  ],
  'python, in coroutines': [
    'python',
    `
import asyncio
async def main():
    print(await tools.echo(n=1), await asyncio.gather(tools.hold(), tools.hold()))
    async with asyncio.timeout(60):
        print(await asyncio.create_task(tools.echo(n=2)))
    try:
        await tools.fail()
    except tools.ToolError as error:
        print(error.tool)
    print(await asyncio.to_thread(tools.echo, n=3))
    first, second = tools.hold(), tools.hold()
    print(await first, await second)
asyncio.run(main())`,
    "{'n': 1} [False, True]\n{'n': 2}\nfail\n{'n': 3}\nFalse True\n",
  ],
  'python, in threads': [
    'python',
    `
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool:
    print(sorted(pool.map(lambda _: tools.hold(), range(2))))
    print(list(pool.map(lambda n: tools.echo(n=n)["n"], range(40))) == list(range(40)))`,
    '[False, True]\nTrue\n',
  ],
  'python, in threads: one thread gets its answer while others wait': [
    'python',
    `
from queue import SimpleQueue
from threading import Thread
done = SimpleQueue()
for _ in range(2):
    Thread(target=lambda: done.put(tools.turn())).start()
print(done.get(), tools.turn(last=True), done.get(), tools.echo(n=1))`,
    "None None None {'n': 1}\n",
  ],
  'python, whose signals end a wait': [
    'python',
    `
import signal
def late(*_):
    raise TimeoutError
signal.signal(signal.SIGALRM, late)
for n in range(3):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        tools.turn(n=n)
    except TimeoutError:
        print(tools.echo(n=n)["n"], end=" ")
print(tools.turn(last=True))`,
    '0 1 2 None\n',
  ],
  'python, whose handler of a signal calls a tool while another call waits': [
    'python',
    `
import signal
busy = False
def call(*_):
    global busy
    if not busy:
        busy = True
        tools.turn(last=True)
        busy = False
signal.signal(signal.SIGALRM, call)
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
tools.turn()
signal.setitimer(signal.ITIMER_REAL, 0)
print(tools.echo(n=1))`,
    "{'n': 1}\n",
  ],
  'python, whose handler of a signal calls a tool while another call is written': [
    'python',
    `
import os, signal
signal.signal(signal.SIGUSR1, lambda *_: print(tools.echo(n=2)))
write = os.write
def interrupted(file, line):
    os.write = write
    os.kill(os.getpid(), signal.SIGUSR1)
    return write(file, line)
os.write = interrupted
print(tools.echo(n=1))`,
    "{'n': 2}\n{'n': 1}\n",
  ],
  'python, in coroutines, with one thread of its own for all calls, also after it could not start': [
    'python',
    `
import asyncio, _thread
start, started = _thread.start_new_thread, []
def counted(*work):
    started.append(work)
    if len(started) == 1:
        raise RuntimeError("can't start new thread")
    return start(*work)
_thread.start_new_thread = counted
async def main():
    try:
        await tools.echo(n=0)
    except RuntimeError as error:
        print(error)
    for n in (1, 2):
        print((await tools.echo(n=n))["n"])
asyncio.run(main())
print(len(started))`,
    "can't start new thread\n1\n2\n2\n",
  ],
  'python, whose signal handler would call a tool during an import of json': [
    'python',
    `
import os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: print(tools.echo(n=2)))
class Finder:
    def find_spec(self, name, *_):
        if name == "json.decoder":
            os.kill(os.getpid(), signal.SIGUSR1)
sys.meta_path.insert(0, Finder())
import json
print(tools.echo(n=1))`,
    "{'n': 1}\n",
  ],
  'python, whose signal handler raises at any moment while another thread waits': [
    'python',
    `
import json, signal
from threading import Thread
armed = False
def late(*_):
    global armed
    if armed:
        armed = False
        raise TimeoutError
signal.signal(signal.SIGALRM, late)
got = []
other = Thread(target=lambda: got.extend(tools.echo(n=n)["n"] for n in range(40)))
other.start()
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
for _ in range(100):
    try:
        armed = True
        tools.echo()
        armed = False
    except TimeoutError:
        pass
signal.setitimer(signal.ITIMER_REAL, 0)
other.join()
print(got == list(range(40)))`,
    'True\n',
  ],
  'javascript, a module': [
    'node',
    `
import imported, { ToolError } from 'tools';
console.log(imported === tools, await tools.echo({ query: 'é', n: [1, 2.5, null, true] }), await tools.echo());
console.log(await Promise.all([tools.hold(), tools.hold()]), await tools['a-b']({ x: 1 }));
const error = await tools.fail().catch((each) => each);
console.log(error instanceof ToolError, error.name, error.tool, JSON.stringify(error.message));`,
    `true { query: 'é', n: [ 1, 2.5, null, true ] } {}
[ false, true ] { x: 1 }
true ToolError fail "it said \\"no\\"\\n\\u001b[31mé😀"
`,
  ],
  'javascript, a script': [
    'node',
    `
const imported = require('tools');
tools.echo({ n: 1 }).then((result) => console.log(imported === tools, result));`,
    'true { n: 1 }\n',
  ],
  typescript: [
    'typescript',
    `
const found: { n: number } = await tools.echo({ n: 1 });
console.log(found.n);`,
    '1\n',
  ],
  bash: [
    'bash',
    `
tool echo '{"query": "é",
  "n": [1, 2.5, null, true]}'
tool echo
echo '"text"' | tool a-b -
tool hold & tool hold; wait
tool fail 2>error || { echo $?; cat -v error; }
tool echo '{n: 1}' 2>error || { echo $?; cat error; }
ls -A /tmp`,
    `{"query":"é","n":[1,2.5,null,true]}
{}
"text"
HELD
1
tool: it said "no"
^[[31mM-CM-)M-pM-^_M-^XM-^@
2
tool: the arguments are no JSON text
`,
  ],
  'bash, which opens the descriptors by their paths': [
    'bash',
    `echo '{"call": 1, "tool": "echo", "arguments": 2}' >/dev/fd/31; head -n 1 /dev/fd/30`,
    '{"call":1,"result":2}\n',
  ],
} as const;

describe.each(Object.keys(WAYS) as Way[])('in %s', (way) => {
  it.each(Object.entries(PROGRAMS))('%s', async (name, [language, code, wanted]) => {
    // A subprocess has the /tmp of its host.
    const script = way === 'a subprocess' ? code.replace('ls -A /tmp', '') : code;
    const { stdout, stderr, ending } = await run(way, language, script, { tool: tools() });
    const told = stdout.replace(/^(true\nfalse|false\ntrue)$/m, 'HELD');
    expect({ name, stdout: told, stderr, ending }).toEqual({ name, stdout: wanted, stderr: '', ending: exited });
  });

  it('a Node program with another heap size still calls tools', async () => {
    const code =
      'import own from "tools"; console.log(own === tools, process.argv.length, await tools.echo({ n: 1 }));';
    const { stdout, ending } = await run(way, 'node', code, { more: { mem_mb: 512 } });
    expect({ stdout, ending }).toEqual({ stdout: 'true 2 { n: 1 }\n', ending: exited });
  });

  it.each(['python', 'node'] as const)('a thousand calls from %s may be open at once', async (language) => {
    const waiting: number[] = [];
    const code = {
      python: `
import asyncio
async def main():
    found = await asyncio.gather(*(tools.echo(n=n) for n in range(1000)))
    print([each["n"] for each in found] == list(range(1000)))
asyncio.run(main())`,
      node: `
const found = await Promise.all(Array.from({ length: 1000 }, (_, n) => tools.echo({ n })));
console.log(found.every((each, n) => each.n === n));`,
    }[language];
    const { stdout, stderr } = await run(way, language, code, {
      limits: { calls: 1000 },
      tool({ call, arguments: given }, answer) {
        waiting.push(call);
        if (waiting.length === 1000) answer(call, { result: given });
        else void Promise.resolve().then(() => answer(call, { result: given }));
      },
    });
    expect({ stdout: stdout.toLowerCase(), stderr }).toEqual({ stdout: 'true\n', stderr: '' });
  });
});

describe('a call that would make the service end a program fails in the program instead', () => {
  it.each([
    ['a number that a double cannot hold', 'n=2**64 + 1', '{ n: 2n ** 64n + 1n }', ['ValueError', 'TypeError']],
    ['no number', 'n=float("nan")', '() => 1', ['ValueError', 'TypeError']],
    ['no JSON', 'n=object()', 'Symbol("s")', ['TypeError', 'TypeError']],
    ['half of a character', 'text="\\ud800"', '{ text: "\\ud800" }', ['UnicodeEncodeError', 'TypeError']],
    ['half of one in a name', '**{"\\udc00": 1}', '{ "\\udc00": 1 }', ['UnicodeEncodeError', 'TypeError']],
    [
      'too deep a value',
      'n=eval("["*31 + "]"*31)',
      '{ n: JSON.parse("[".repeat(31) + "]".repeat(31)) }',
      ['ValueError', 'RangeError'],
    ],
    ['too many values', 'n=[0] * 19_992', '{ n: Array(19_992).fill(0) }', ['ValueError', 'RangeError']],
    ['a name that is no text', '**{"d": {1: 2}}', '(() => { throw new TypeError(); })()', ['TypeError', 'TypeError']],
  ])('%s', async (_, python, javascript, names) => {
    const ofPython = `
try:
    tools.echo(${python})
except Exception as error:
    print(type(error).__name__, tools.echo(n=1))`;
    const ofJavaScript = `
try {
  await tools.echo(${javascript});
} catch (error) {
  console.log(error.name, await tools.echo({ n: 1 }));
}`;
    expect((await run('a forked cell', 'python', ofPython)).stdout).toBe(`${names[0]} {'n': 1}\n`);
    expect((await run('a forked cell', 'node', ofJavaScript)).stdout).toBe(`${names[1]} { n: 1 }\n`);
  });

  it('a call may nest as deeply and have as many values as the service accepts', async () => {
    const ofPython = 'print(len(tools.echo(n=eval("["*30 + "]"*30))), len(tools.echo(n=[0] * 19_991)["n"]))';
    const ofJavaScript = `
const deep = await tools.echo({ n: JSON.parse('['.repeat(30) + ']'.repeat(30)) });
console.log(deep.n.length, (await tools.echo({ n: Array(19_991).fill(0) })).n.length);`;
    expect((await run('a forked cell', 'python', ofPython)).stdout).toBe('1 19991\n');
    expect((await run('a forked cell', 'node', ofJavaScript)).stdout).toBe('1 19991\n');
  });
});

describe('a program', () => {
  it('without tools finds no tools module, no global name and no tool command', async () => {
    const finds = { python: 'import tools', node: 'require("tools")', bash: 'tool echo' } as const;
    for (const [language, code] of Object.entries(finds)) {
      const { stderr, ending } = await run('a forked cell', language as keyof typeof finds, code, { hasTools: false });
      expect(stderr).toMatch(/No module named 'tools'|Cannot find module 'tools'|tool: command not found/);
      expect(ending).not.toEqual(exited);
    }
    const named = await run('a forked cell', 'node', 'console.log(typeof tools)', { hasTools: false });
    expect(named.stdout).toBe('undefined\n');
  });

  it('may define variables with the names of tools and of the module', async () => {
    const ofPython =
      'tools = {"a": 1}\nprint(tools)\nimport tools\nprint(tools.echo(n=1), tools.json(n=2), tools.os(n=3))';
    expect((await run('a forked cell', 'python', ofPython)).stdout).toBe("{'a': 1}\n{'n': 1} {'n': 2} {'n': 3}\n");
    const ofNode =
      'const tools = { a: 1 }; console.log(tools); globalThis.tools.constructor({ n: 1 }).then(console.log);';
    expect((await run('a forked cell', 'node', ofNode)).stdout).toBe('{ a: 1 }\n{ n: 1 }\n');
  });

  it('in Python gets integers back whole', async () => {
    const numbers = '[2**53 + 2, 2**60, -(2**63), 3, -1]';
    const code = `print(tools.echo(n=${numbers})["n"] == ${numbers}, tools.echo(n=2**60))`;
    expect((await run('a forked cell', 'python', code)).stdout).toBe("True {'n': 1152921504606846976}\n");
  });

  it('that prints, awaits or inspects a tool makes no call', async () => {
    const ofPython =
      'import copy, inspect\nprint(tools.__name__, inspect.unwrap(tools).__name__, hasattr(tools, "__wrapped__"))';
    const ofNode = 'console.log(tools, Object.keys(tools), JSON.stringify({ tools }), (await tools) === tools);';
    const python = await run('a forked cell', 'python', ofPython);
    expect({ stdout: python.stdout, calls: python.calls }).toEqual({ stdout: 'tools tools False\n', calls: [] });
    const node = await run('a forked cell', 'node', ofNode);
    expect({ ending: node.ending, calls: node.calls }).toEqual({ ending: exited, calls: [] });
  });

  it('in Python is warned about a coroutine that nobody awaits, and the call is still made', async () => {
    const code = 'import asyncio\nasync def main():\n    tools.log(n=1)\nasyncio.run(main())';
    const { stderr, calls } = await run('a forked cell', 'python', code);
    expect(stderr).toContain("coroutine 'tools.log' was never awaited");
    expect(calls.length).toBe(1);
  });

  it('continues after it gave up waiting for an answer, and the late answer is dropped', async () => {
    const ofPython = `
import asyncio
async def main():
    try:
        await asyncio.wait_for(tools.never(), 0.05)
    except TimeoutError:
        print(await tools.echo(n=1))
asyncio.run(main())
print(tools.echo(n=2))`;
    const ofNode = `
const late = new Promise((resolve) => setTimeout(resolve, 50, 'late'));
console.log(await Promise.race([tools.never(), late]), await tools.echo({ n: 1 }));
process.exit();`;
    const never = ({ call, tool, arguments: given }: ToolCall, answer: Answer) => {
      if (tool !== 'never') answer(call, { result: given });
    };
    expect((await run('a forked cell', 'python', ofPython, { tool: never })).stdout).toBe("{'n': 1}\n{'n': 2}\n");
    expect((await run('a forked cell', 'node', ofNode, { tool: never })).stdout).toBe('late { n: 1 }\n');
  });

  it('can call tools only from its first process and main thread', async () => {
    const ofPython = `
import os, sys
if os.fork() == 0:
    try:
        tools.echo(n=1)
    except RuntimeError as error:
        print(error)
    sys.stdout.flush()
    os._exit(0)
os.wait()
print(tools.echo(n=2))`;
    const { stdout, calls } = await run('a forked cell', 'python', ofPython);
    expect(stdout).toBe("tools are called from the process in which the program began\n{'n': 2}\n");
    expect(calls.length).toBe(1);
    const ofNode = `
const { Worker } = require('node:worker_threads');
const source = 'const t = require("tools"); t.echo().catch((e) => console.log(typeof tools, e.message))';
new Worker(source, { eval: true }).on('exit', async () => console.log(await tools.echo({ n: 2 })));`;
    const node = await run('a forked cell', 'node', ofNode);
    expect(node.stdout).toBe('undefined tools are called from the main thread\n{ n: 2 }\n');
  });

  it('can call tools by the command and from Node at the same time, and each call gets its own answer', async () => {
    const code = `
import { execSync, exec } from 'node:child_process';
console.log(await tools.echo({ n: 1 }), execSync("tool echo '[2]'").toString().trim(), await tools.echo({ n: 3 }));
console.log(await new Promise((resolve) => exec("tool echo '[4]'", (_, out) => resolve(out.trim()))), await tools.echo(5));`;
    expect((await run('a forked cell', 'node', code)).stdout).toBe('{ n: 1 } [2] { n: 3 }\n[4] 5\n');
  });

  it('whose shell kills a waiting command still gets the answers to its other commands', async () => {
    const code = `
tool never & first=$!
tool echo '[1]'
kill $first; wait
tool echo '[2]'`;
    let isWaiting = false;
    let held = () => {};
    const { stdout, calls } = await run('a forked cell', 'bash', code, {
      tool({ call, tool, arguments: given }, answer) {
        const give = () => answer(call, { result: given });
        if (tool === 'never') {
          isWaiting = true;
          held();
        } else if (isWaiting) give();
        else held = give;
      },
    });
    expect({ stdout, calls: calls.length }).toEqual({ stdout: '[1]\n[2]\n', calls: 3 });
  });

  it('gets a result of one megabyte whole', async () => {
    const result = { text: 'é"\\\u2028'.repeat(100_000) };
    const tool = ({ call }: ToolCall, answer: Answer) => answer(call, { result });
    const sizes = await Promise.all([
      run('a gVisor cell that is started directly', 'python', 'print(len(tools.t()["text"]))', { tool }),
      run('a forked cell', 'node', 'console.log((await tools.t()).text.length)', { tool }),
      run('a forked cell', 'bash', `tool t | perl -CS -e '$_ = <STDIN>; print length(), "\\n"'`, { tool }),
    ]);
    expect(sizes.map(({ stdout }) => Number(stdout))).toEqual([400_000, 400_000, JSON.stringify(result).length + 1]);
  });
});
