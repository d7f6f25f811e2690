/** The steps of a person who has installed the packages: on the machine's own Node, and on the pinned one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { PINNED_PATH, Project, SYSTEM_PATH } from './project.ts';

const tarballs = inject('tarballs');
const pathOf = (wanted: string) => tarballs.find(({ name }) => name === wanted)?.path ?? '';
const KEY = 'a-key-of-the-trials-of-the-tarballs';
/** The oldest Node that the client and the verifier promise to run on. */
const NODE_22 = `node-${process.platform}-${process.arch}@22.12.0`;

const CLIENT = `
  import { createServiceClient } from '@vouchbox/client';
  const [url] = process.argv.slice(2);
  const client = createServiceClient({ baseUrl: url, apiKey: '${KEY}' });
  const { job_id } = await client.submit({ language: 'python', code: 'print("from the client")' });
  for await (const event of client.follow(job_id)) if (event.kind === 'stdout') console.log(event.data.text);
  const { status } = await client.waitForResult(job_id);
  console.log(JSON.stringify({ job_id, status }));`;

interface Served extends AsyncDisposable {
  readonly url: string;
}

/** Starts the installed service, and ends it as a person does. */
async function serve(project: Project): Promise<Served> {
  const command = join(project.path, 'node_modules/.bin/vouchbox');
  const env = { ...project.environment, SERVICE_LEGACY_KEYS: `me=${KEY}` };
  const words = ['serve', '--port', '0', '--data-dir', join(project.path, 'data')];
  const child = spawn(command, words, { cwd: project.path, env, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  const lines = createInterface(child.stdout);
  const [line] = (await once(lines, 'line')) as [string];
  return {
    url: line.replace('listening on ', ''),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    },
  };
}

/** Submits a job with the installed client, on the Node of the project's path. */
function runClient(project: Project, url: string): { job_id: string; status: string } {
  const file = project.write('client.mjs', CLIENT);
  const { status, stdout, stderr } = project.node(file, url);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const [output, ending = ''] = stdout.trim().split('\n');
  expect(output).toBe('from the client');
  return JSON.parse(ending) as { job_id: string; status: string };
}

describe.each([
  { name: "the machine's own Node", path: SYSTEM_PATH, words: [] },
  // The Node that the command would bring is left out, so that it takes the one of the path.
  { name: 'the pinned Node', path: PINNED_PATH, words: ['--omit=optional'] },
])('everything installed, on $name', ({ path, words }) => {
  let project: Project;
  beforeAll(async () => {
    project = new Project(path);
    await project.install(...words, ...tarballs.map((tarball) => tarball.path));
  });
  afterAll(() => project[Symbol.dispose]());

  test('the commands say their version', () => {
    const { version } = tarballs.find(({ name }) => name === 'vouchbox') ?? {};
    for (const command of ['vouchbox', 'svc', 'service-verify']) {
      expect(project.run('npx', '--no', '--', command, '--version')).toMatchObject({
        status: 0,
        stdout: `${version}\n`,
      });
    }
  });

  test('the installation compiles nothing, and a run without a compiler says so and is as isolated', () => {
    const file = project.write('program.py', 'print(6 * 7)');
    expect(existsSync(join(project.path, 'node_modules/@vouchbox/server/native'))).toBe(false);
    project.write('cc', '#!/bin/sh\nexit 1\n');
    chmodSync(join(project.path, 'cc'), 0o755);
    const path = `PATH=${project.path}:${project.environment['PATH']}`;
    const words = ['run', '--minimum-isolation', 'linux-shared-kernel', file];
    const run = project.run('env', path, join(project.path, 'node_modules/.bin/vouchbox'), ...words);
    expect(run).toMatchObject({ status: 0, stdout: '42\n', stderr: expect.stringContaining('could not build') });
  });

  test('the first run with a compiler compiles and says so, the second does not', () => {
    const file = project.write('program.py', 'print(6 * 7)');
    const native = join(project.path, 'node_modules/@vouchbox/server/native');
    const first = project.run('vouchbox', 'run', file);
    expect(first).toMatchObject({
      status: 0,
      stdout: '42\n',
      stderr: expect.stringContaining('built what starts cells'),
    });
    expect(readdirSync(native)).toEqual(expect.arrayContaining(['svc-launcher', 'svc-sentry']));
    expect(project.run('vouchbox', 'run', file)).toMatchObject({ status: 0, stdout: '42\n', stderr: '' });
  });

  test('a service runs a job of the client, and its export is verified by the command', async () => {
    await using service = await serve(project);
    const isNew = Number(project.node('--version').stdout.slice(1).split('.')[0]) >= 22;
    const { job_id, status } = isNew
      ? runClient(project, service.url)
      : (JSON.parse(
          project.run('node', project.write('client.mjs', CLIENT), service.url).stdout.split('\n')[1] ?? '',
        ) as {
          job_id: string;
          status: string;
        });
    expect(status).toBe('succeeded');
    const access = ['--url', service.url, '--key', KEY];
    expect(project.run('vouchbox', 'export', job_id, ...access)).toMatchObject({ status: 0 });
    const pinned = ['--data-dir', 'data', '--output', 'pinned.pem'];
    expect(project.run('vouchbox', 'attestation-keys', 'export', ...pinned)).toMatchObject({ status: 0 });
    const demanded = ['--public-key', 'pinned.pem', '--tenant', 'me', '--require', 'isolation>=linux-shared-kernel'];
    expect(project.run('service-verify', 'directory', job_id, ...demanded)).toMatchObject({ status: 0 });
    await checkOnNode22(project, service.url, job_id);
  });

  test('a service with a collector says which packages it lacks', () => {
    const words = ['serve', '--port', '0', '--data-dir', 'unused', '--otlp-endpoint', 'http://127.0.0.1:9'];
    const { status, stderr } = project.run('vouchbox', ...words);
    expect(status).not.toBe(0);
    expect(stderr).toContain('npm install @opentelemetry/api@');
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  test('the recipes of runtime packs are found', () => {
    const { stderr } = project.run('vouchbox', 'packs', 'build', 'no-such-recipe');
    expect(stderr).toContain('python-data');
  });
});

/** The client alone, and the verifier with what it stands on, each in a folder of its own on the oldest Node. */
async function checkOnNode22(installed: Project, url: string, job_id: string): Promise<void> {
  using older = new Project(SYSTEM_PATH);
  await older.install(NODE_22);
  const path = `${join(older.path, 'node_modules/.bin')}:${SYSTEM_PATH}`;
  using client = new Project(path);
  await client.install(pathOf('@vouchbox/client'));
  expect(client.node('--version').stdout).toBe('v22.12.0\n');
  expect(readdirSync(join(client.path, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@vouchbox']);
  expect(readdirSync(join(client.path, 'node_modules/@vouchbox'))).toEqual(['client']);
  expect(runClient(client, url).status).toBe('succeeded');

  using verifier = new Project(path);
  await verifier.install(...['verifier', 'evidence', 'protocol'].map((name) => pathOf(`@vouchbox/${name}`)));
  expect(readdirSync(join(verifier.path, 'node_modules/@vouchbox')).sort()).toEqual([
    'evidence',
    'protocol',
    'verifier',
  ]);
  const words = [join(installed.path, job_id), '--public-key', join(installed.path, 'pinned.pem')];
  const { status, stdout } = verifier.run('service-verify', 'directory', ...words, '--tenant', 'me');
  expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining('signature') });
  const other = verifier.run('service-verify', 'directory', ...words, '--tenant', 'somebody-else');
  expect(other.status).not.toBe(0);
}
