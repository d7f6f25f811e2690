/** The steps of a person who has installed the packages, on the machine's own Node and on the pinned Node. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
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

const NATIVE = 'node_modules/@vouchbox/server/native';

/** Runs a command with a PATH on which every compiler fails. */
function withoutCompiler(
  project: Project,
  settings: Record<string, string>,
  command: string,
  ...words: readonly string[]
) {
  for (const name of ['cc', 'gcc', `${process.arch === 'x64' ? 'x86_64' : 'aarch64'}-linux-gnu-gcc`]) {
    project.write(name, '#!/bin/sh\nexit 1\n');
    chmodSync(join(project.path, name), 0o755);
  }
  const path = [project.path, join(project.path, 'node_modules/.bin'), project.environment['PATH']].join(':');
  const variables = Object.entries({ ...settings, PATH: path }).map(([name, value]) => `${name}=${value}`);
  return project.run('env', ...variables, command, ...words);
}

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
  // Without the optional package that contains Node, the command uses the Node on the PATH.
  { name: 'the pinned Node', path: PINNED_PATH, words: ['--omit=optional'] },
])('everything installed, on $name', ({ path, words }) => {
  let project: Project;
  beforeAll(async () => {
    project = new Project(path);
    await project.install(...words, ...tarballs.map((tarball) => tarball.path));
  });
  afterAll(() => project[Symbol.dispose]());

  test('vouchbox, svc and service-verify print their version', () => {
    const { version } = tarballs.find(({ name }) => name === 'vouchbox') ?? {};
    for (const command of ['vouchbox', 'svc', 'service-verify']) {
      expect(project.run('npx', '--no', '--', command, '--version')).toMatchObject({
        status: 0,
        stdout: `${version}\n`,
      });
    }
  });

  test('`vouchbox demo` runs a program and verifies its export', () => {
    const { status, stdout } = project.run('npx', '--no', 'vouchbox', 'demo', '--once');
    expect({ status, verified: /^ +ok +signature /m.test(stdout) }).toEqual({ status: 0, verified: true });
  });

  test('vouchbox run starts its cell with the compiled programs of the package, without a compiler', () => {
    const file = project.write('program.py', 'print(6 * 7)');
    const words = ['run', '--json', '--minimum-isolation', 'linux-shared-kernel', file];
    const { status, stdout, stderr } = withoutCompiler(
      project,
      { SERVICE_PROVIDER: 'namespace' },
      'vouchbox',
      ...words,
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ stdout: '42\n' });
    expect(readdirSync(join(project.path, NATIVE)).sort()).toEqual(['arm64', 'digests.json', 'x64']);
    expect(readdirSync(join(project.path, NATIVE, process.arch))).toHaveLength(8);
  });

  test('vouchbox setup compiles nothing, and vouchbox doctor says that the programs came with the package', () => {
    const setUp = withoutCompiler(project, {}, 'vouchbox', 'setup', '--json');
    expect(setUp).toMatchObject({ status: 0, stderr: '' });
    expect(JSON.parse(setUp.stdout)).toEqual({ missing_programs: [] });
    const doctor = withoutCompiler(project, {}, 'vouchbox', 'doctor', '--json');
    const { checks } = JSON.parse(doctor.stdout) as { checks: readonly { id: string }[] };
    expect(checks.find(({ id }) => id === 'host.natives')).toMatchObject({
      result: 'pass',
      observed: 'as this package was built',
    });
  });

  test('a cell is not started with a program of the package that changed after the installation', () => {
    const init = join(project.path, NATIVE, process.arch, 'svc-init');
    const before = readFileSync(init);
    try {
      writeFileSync(init, Buffer.concat([before, Buffer.from('!')]));
      const file = project.write('program.py', 'print(6 * 7)');
      const run = project.run('vouchbox', 'run', file);
      expect(run).toMatchObject({
        stdout: '',
        stderr: expect.stringContaining('svc-init changed since this package was built'),
      });
      expect(run.status).not.toBe(0);
      const setUp = project.run('vouchbox', 'setup', '--json');
      expect(JSON.parse(setUp.stdout)).toEqual({ missing_programs: ['svc-init'] });
    } finally {
      writeFileSync(init, before);
    }
  });

  test('a service runs a job of the client, and service-verify accepts its export', async () => {
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

  test('vouchbox serve with --otlp-endpoint says which packages are missing', () => {
    const words = ['serve', '--port', '0', '--data-dir', 'unused', '--otlp-endpoint', 'http://127.0.0.1:9'];
    const { status, stderr } = project.run('vouchbox', ...words);
    expect(status).not.toBe(0);
    expect(stderr).toContain('npm install @opentelemetry/api@');
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  test('vouchbox packs build finds the recipes of runtime packs', () => {
    const { stderr } = project.run('vouchbox', 'packs', 'build', 'no-such-recipe');
    expect(stderr).toContain('python-data');
  });
});

/** Checks the client alone, and the verifier with its dependencies, each in its own folder on the oldest Node. */
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
