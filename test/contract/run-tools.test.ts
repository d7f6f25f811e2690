/** `vouchbox run --tool`: commands answer the tool calls of the program. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { useRig } from '../rig/rig.ts';

const rig = useRig({ provider: 'namespace', concurrency: '2' });
let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-run-tools-'));
});
afterAll(() => rmSync(scratch, { recursive: true }));

function run(code: string, ...words: string[]) {
  writeFileSync(join(scratch, 'a.py'), code);
  const env = { SERVICE_URL: rig().service.url, SERVICE_KEY: rig().alpha.key, PAGES_TOKEN: 'of the tool' };
  return vouchbox(['run', 'a.py', '--limit', 'wall_seconds=60', ...words], { cwd: scratch, env });
}

/** Runs a program that calls the tool `it`, which is this command. Returns the tool's answer, as the program prints it. */
async function says(command: string): Promise<string> {
  const code = `try:\n    print(ascii(tools.it(a="é", b=1)))\nexcept tools.ToolError as error:\n    print("error:", error)`;
  const { stdout, stderr, code: exit } = await run(code, '--tool', `it=${command}`);
  expect([exit, stderr]).toEqual([0, '']);
  return stdout.trim();
}

test.each([
  ['prints JSON', 'echo "[1, null]"', '[1, None]'],
  ['prints text', 'echo one; echo two', "'one\\ntwo'"],
  ['prints nothing', 'true', "''"],
  ['prints its arguments', 'cat', String.raw`{'a': '\xe9', 'b': 1}`],
  ['prints variables of whoever started it, and no key', 'echo "$PAGES_TOKEN" "[$SERVICE_KEY]"', "'of the tool []'"],
  ['fails with a reason', 'echo out; echo "no such page" >&2; exit 3', 'error: no such page'],
  ['fails without a reason', 'exit 3', 'error: the command ended with 3'],
  ['is killed', 'kill -9 $$', 'error: the command ended with SIGKILL'],
  ['prints too much', 'yes', 'error: the command printed more than 262144 bytes'],
  ['prints a lone surrogate', String.raw`printf '"\\ud800"'`, 'error: holds a lone surrogate'],
  ['prints the number 2 ** 53 + 1', 'echo "[9007199254740993]"', 'error: holds a number that a double cannot hold'],
])('the program gets the right answer from a tool whose command %s', async (_what, command, said) => {
  expect((await says(command)).slice(0, said.length)).toBe(said);
});

test('the commands of several tools run concurrently', async () => {
  // Neither command ends before the other command has begun.
  const pipe = join(scratch, 'pipe');
  const [writes, reads] = [`mkfifo ${pipe}; echo 1 > ${pipe}`, `until [ -p ${pipe} ]; do :; done; cat ${pipe}`];
  const code = `
import asyncio
async def main():
    print(await asyncio.gather(tools.writes(), tools.reads()))
asyncio.run(main())`;
  const { stdout } = await run(code, '--tool', `writes=${writes}`, '--tool', `reads=${reads}`);
  expect(stdout).toBe("['', 1]\n");
});

test("a tool's command is killed if it still runs when the job ends", async () => {
  const words = ['--tool', 'it=exec sleep 600', '--limit', 'wall_seconds=2'];
  expect((await run('tools.it()', ...words)).code).toBe(124);
});

test.each([
  ['beside it', ''],
  ['as a daemon does', 'setsid '],
])("a tool's command starts a process %s, and the process ends with the command", async (_what, apart) => {
  const pid = join(mkdtempSync(join(scratch, 'started-')), 'pid');
  const starts = `${apart}sh -c 'echo $$ > ${pid}; exec sleep 600' > /dev/null 2>&1 &`;
  const started = await says(`${starts} until [ -s ${pid} ]; do :; done; cat ${pid}`);
  expect(started).toMatch(/^\d+$/);
  await expect.poll(() => commandLineOf(started)).toBe('');
});

/** The command line of a process; empty if the process has ended. */
function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

test.each([
  ['no command', ['it'], '--tool it: give NAME=COMMAND'],
  ['a name twice', ['it=true', 'it=false'], '--tool it=false: it has a command already'],
  ['a name that programs cannot use', ['a b=true'], '--tool '],
])('vouchbox run exits with 2 for a --tool with %s', async (_what, tools, says) => {
  const { code, stderr } = await run('1', ...tools.flatMap((tool) => ['--tool', tool]));
  expect([code, stderr]).toEqual([2, expect.stringContaining(says)]);
});
