/** Vouchbox as an ordinary user in other environments: a container without capabilities, a devcontainer, a GitHub action. */
import { spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { REFUSED_CALLS, UNKNOWN_CALLS } from '../../packages/server/src/sandbox/kernel/seccomp/system-calls.ts';
import { DEPLOY } from './unit.ts';

const root = join(DEPLOY, '..');
const NOBODY = 65_534;
const page = readFileSync(join(root, 'docs/operating/containers.md'), 'utf8');

interface Compose {
  readonly services: {
    readonly vouchbox: { readonly [name: string]: unknown; readonly security_opt: readonly string[] };
  };
}
const { vouchbox } = (parse(readFileSync(join(DEPLOY, 'compose.user.yaml'), 'utf8')) as Compose).services;

describe('the container for an ordinary user', () => {
  test('runs without capabilities, not as root, and mounts nothing from the host', () => {
    expect(vouchbox).toMatchObject({ user: '1000:1000', cap_drop: ['ALL'], read_only: true });
    // Docker would put its init process below /usr, and then a cell cannot show /usr.
    expect(vouchbox['init']).toBeUndefined();
    expect(vouchbox['cap_add']).toBeUndefined();
    expect(vouchbox['privileged']).toBeUndefined();
    expect(vouchbox['volumes']).toEqual(['data:/home/vouchbox']);
  });

  test("gets the same rights from the document's Podman command, and the document explains each right", () => {
    const [, command = ''] = /```sh\n(podman run [\s\S]*?)```/.exec(page) ?? [];
    expect(vouchbox.security_opt).toEqual([
      ...['no-new-privileges:true', 'seccomp:./seccomp.json', 'apparmor:unconfined', 'systempaths=unconfined'],
    ]);
    for (const right of [
      'seccomp.json',
      'apparmor:unconfined',
      'systempaths=unconfined',
      'unmask=ALL',
      'no-new-privileges',
      '--init',
    ]) {
      expect(page).toMatch(new RegExp(`^\\| .*${right}.* \\|`, 'm'));
    }
    for (const word of [
      '--init',
      '--cap-drop all',
      '--read-only',
      '--user 1000:1000',
      'unmask=ALL',
      'seccomp=deploy/seccomp.json',
    ]) {
      expect(command).toContain(word);
    }
  });

  test('has a seccomp filter that allows every system call that a cell’s own filter allows', () => {
    const { defaultAction, syscalls } = JSON.parse(readFileSync(join(DEPLOY, 'seccomp.json'), 'utf8')) as {
      defaultAction: string;
      syscalls: readonly { readonly names: readonly string[]; readonly action: string }[];
    };
    expect([defaultAction, ...syscalls.map(({ action }) => action)]).toEqual(['SCMP_ACT_ALLOW', 'SCMP_ACT_ERRNO']);
    const refused = new Set([...REFUSED_CALLS, ...UNKNOWN_CALLS]);
    expect(syscalls.flatMap(({ names }) => names).filter((name) => !refused.has(name))).toEqual([]);
  });

  test('gives a devcontainer the same rights', () => {
    const text = readFileSync(join(root, '.devcontainer/devcontainer.json'), 'utf8').replaceAll(/^\s*\/\/.*$/gm, '');
    const { runArgs } = JSON.parse(text) as { runArgs: readonly string[] };
    const options = ['seccomp=/deploy/seccomp.json', 'apparmor=unconfined', 'systempaths=unconfined'];
    // The devcontainer tool replaces the variable with the clone's directory.
    expect(runArgs.map((word) => word.replace(/\$\{\w+\}/, ''))).toEqual(
      options.map((option) => `--security-opt=${option}`),
    );
  });
});

interface Action {
  readonly runs: { readonly steps: readonly { readonly name: string; readonly run: string; readonly env?: object }[] };
}
const { steps } = (parse(readFileSync(join(root, 'action.yml'), 'utf8')) as Action).runs;

/** Runs a step of the action as an ordinary user, with these inputs. */
function step(name: string, inputs: Readonly<Record<string, string>>) {
  const directory = mkdtempSync(join(tmpdir(), 'svc-action-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'answer.py'), 'print(6 * 7)');
  for (const path of [directory, join(directory, 'answer.py')]) chownSync(path, NOBODY, NOBODY);
  const output = join(directory, 'output');
  const { run = '' } = steps.find((one) => one.name === name) ?? {};
  const env = {
    PATH: process.env['PATH'],
    HOME: directory,
    ACTION: root,
    RUNNER_TEMP: directory,
    GITHUB_OUTPUT: output,
  };
  const user = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
  // This is how GitHub starts a step whose shell is bash.
  const bash = ['bash', '--noprofile', '--norc', '-eo', 'pipefail', '-c', run];
  const { status, stdout, stderr } = spawnSync('setpriv', [...user, ...bash], {
    encoding: 'utf8',
    cwd: directory,
    env: { ...env, ...inputs },
  });
  const result = /^result=(.*)$/m.exec(status === null || name !== 'Run' ? '' : readFileSync(output, 'utf8'))?.[1];
  return { status, stdout, stderr, result: result === undefined ? null : readFileSync(result, 'utf8') };
}

const NOTHING = { PROGRAM: 'answer.py', ENFORCED: '', MINIMUM_ISOLATION: '' };

describe('the GitHub action, as an ordinary user', () => {
  test('runs vouchbox doctor on the host', { timeout: 120_000 }, () => {
    expect(step('Doctor', {})).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('programs are isolated by'),
    });
  });

  test('runs a program if the demanded limits are enforced, and returns its result', { timeout: 60_000 }, () => {
    const demands = { ENFORCED: 'cpu_seconds max_pids', MINIMUM_ISOLATION: 'linux-shared-kernel' };
    const { status, stdout, result } = step('Run', { ...NOTHING, ...demands });
    expect({ status, result }).toEqual({ status: 0, result: stdout });
    expect(JSON.parse(stdout)).toMatchObject({ status: 'succeeded', stdout: '42\n' });
  });

  test('fails if a demanded limit is not enforced, and never executes an input’s text in its shell', {
    timeout: 60_000,
  }, () => {
    const { status, result } = step('Run', { ...NOTHING, ENFORCED: 'mem_mb' });
    expect({ status, result }).toEqual({ status: 125, result: '' });
    const hostile = step('Run', { ...NOTHING, PROGRAM: '$(touch harmed); touch harmed', ENFORCED: '$(touch harmed)' });
    expect(hostile.status).not.toBe(0);
    expect(hostile.stderr).not.toContain('touch:');
  });
});
