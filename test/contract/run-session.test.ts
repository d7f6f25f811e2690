/** `vouchbox run --session` and `vouchbox sessions`: each program begins with the state that the previous program left. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commandFile, vouchbox } from '../rig/command.ts';
import { useRig } from '../rig/rig.ts';

const rig = useRig();
let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-run-session-'));
});
afterAll(() => rmSync(scratch, { recursive: true }));

const command = (...words: string[]) =>
  vouchbox(words, { cwd: scratch, env: { SERVICE_URL: rig().service.url, SERVICE_KEY: rig().alpha.key } });

/** Runs a program as the next step of a session. */
function step(session: string, code: string, ...words: string[]) {
  writeFileSync(join(scratch, 'a.py'), code);
  return command('run', 'a.py', '--session', session, ...words);
}

test('vouchbox run --session begins with the state that the session’s last run left', async () => {
  expect(await step('notes', "xs = [1]\nopen('seen', 'w').write('é')")).toMatchObject({
    code: 0,
    stdout: '',
    stderr: '',
  });
  const code = "import os\nxs.append(2)\nprint(xs, open('seen').read(), input())\nopen('output/o', 'w').write('o')";
  const ran = await step('notes', code, '--stdin', 'in', '--output', 'output/**=here');
  expect(ran).toMatchObject({ code: 0, stdout: '[1, 2] é in\n', stderr: '' });
  expect(readdirSync(join(scratch, 'here'))).toEqual(['o']);
});

test('vouchbox run --session lists what a step could not keep, at most ten by name', async () => {
  const told = await step('told', "kept = 1\nopened = open('a\\x1b', 'w')");
  expect(told.code).toBe(0);
  expect(told.stderr).toMatch(
    /^vouchbox: not kept: global opened: TypeError: cannot pickle '_io.TextIOWrapper'[^\n]*\n$/,
  );
  const many = await step(
    'told',
    'opened = [0]\nfor n in range(30): globals()[f"f{n:02}"] = open("main.py")\nprint(kept)',
  );
  expect([
    many.stdout,
    many.stderr.split('\n').length,
    many.stderr.includes('\nvouchbox: not kept: 20 more\n'),
  ]).toEqual(['1\n', 12, true]);
});

test('after a failed step, vouchbox run --session names the step whose state the session keeps', async () => {
  expect((await step('fails', 'raise SystemExit(3)')).stderr).toBe(
    'vouchbox: session fails stays at its beginning: no state came back from this step\n',
  );
  const { json } = await jsonOf(step('fails', 'a = 1', '--json'));
  const failed = await step('fails', 'a = 2\nimport sys\nsys.exit(3)');
  expect([failed.code, failed.stderr]).toEqual([
    3,
    `vouchbox: session fails stays at ${json.job_id}: no state came back from this step\n`,
  ]);
  const large = await step('fails', 'b = bytes(65 << 20)', '--limit', 'mem_mb=512');
  expect(large.code).toBe(1);
  expect(large.stderr).toContain(`vouchbox: session fails stays at ${json.job_id}: `);
  expect((await step('fails', 'print(a)')).stdout).toBe('1\n');
});

async function jsonOf(ended: ReturnType<typeof command>) {
  const { stdout, ...rest } = await ended;
  // biome-ignore lint/suspicious/noExplicitAny: a command's document
  return { ...rest, json: JSON.parse(stdout) as any };
}

test('vouchbox run --session --json says what the step kept', async () => {
  const { json } = await jsonOf(step('json', 'a = 1\nopened = open("x", "w")', '--json'));
  expect([json.outputs, json.violations, json.large_outputs]).toEqual([[], [], []]);
  expect(json.session).toEqual({
    name: 'json',
    moved: true,
    problem: null,
    kept: {
      globals: 1,
      files: 2,
      not_kept: [{ kind: 'global', name: 'opened', reason: expect.stringContaining('cannot pickle') as string }],
      more_not_kept: 0,
    },
  });
});

test('vouchbox run --session says what to do about a step whose language differs from the session’s', async () => {
  await step('shared', 'a = 1');
  writeFileSync(join(scratch, 'b.sh'), 'true');
  const other = await command('run', 'b.sh', '--session', 'shared');
  expect(other.code).toBe(125);
  expect(other.stderr).toMatch(
    /^vouchbox: The submission is no next step: the session is in the language python\. \(session_conflict, .*\); run it again once no step runs, or with another name; `vouchbox sessions` shows .*\n$/,
  );
});

test.each([
  [['--local'], /^vouchbox: --session needs a service that keeps running: .*\n$/],
  [['--interactor', 'a.py'], /^vouchbox: --interactor must be left out of a step of a session .*\n$/],
  [['--language', 'c'], /^vouchbox: --session must be left out: c is compiled, .*\n$/],
  [['--output', 'output/.session/state'], /^vouchbox: --session keeps outputs of its own, .*\n$/],
])('vouchbox run --session with %j is wrong usage', async (words, told) => {
  const ended = await step('wrong', '0', ...words);
  expect([ended.code, ended.stderr]).toEqual([2, expect.stringMatching(told)]);
});

test.each(['.', '..', 'a b', ''])('refuses %j as the name of a session', async (name) => {
  for (const ended of [await step(name, '0'), await command('sessions', 'remove', name)])
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('begins with a letter or a digit')]);
});

test('vouchbox run --session says that the session was removed while the step ran', async () => {
  const { service, alpha } = rig();
  const remove = `SERVICE_URL=${service.url} SERVICE_KEY=${alpha.key} ${commandFile} sessions remove gone >&2 && echo null`;
  const ended = await step('gone', 'a = 1\ntools.remove()', '--tool', `remove=${remove}`);
  expect([ended.code, ended.stderr]).toEqual([
    1,
    expect.stringMatching(
      /^vouchbox: session gone stays at its beginning: the session was removed while the step ran$/m,
    ),
  ]);
});

test('vouchbox sessions lists and removes sessions', async () => {
  const { json: ran } = await jsonOf(step('listed', 'a = 1', '--json'));
  const { json } = await jsonOf(command('sessions', '--json'));
  expect(json).toContainEqual(expect.objectContaining({ name: 'listed', last_job_id: ran.job_id }));
  const { stdout } = await command('sessions');
  expect(stdout).toMatch(/^name +language +last_job_id +running_job_id +changed_at\n/);
  expect(stdout).toMatch(new RegExp(`^listed +python +${ran.job_id} +- +\\S+$`, 'm'));
  expect(await command('sessions', 'remove', 'listed')).toMatchObject({
    code: 0,
    stdout: 'listed is removed; its jobs are still there\n',
  });
  const again = await command('sessions', 'remove', 'listed');
  expect([again.code, again.stderr]).toEqual([
    1,
    expect.stringMatching(/session_not_found, .*\); `vouchbox sessions` lists the sessions\n$/),
  ]);
  expect((await step('listed', 'print("a" in globals())')).stdout).toBe('False\n');
});
