/** Spec § Sessions: a session after its service was killed, removed jobs or was copied, and a session in an export. */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client as Agent } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createServiceClient } from '@vouchbox/client';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newSchema } from '../../packages/server/src/store/postgres/schema.fixture.ts';
import { Command, commandFile, vouchbox } from '../rig/command.ts';
import { leftoversOf } from '../rig/leftovers.ts';
import { startPostgres } from '../rig/postgres-server.ts';
import { Rig } from '../rig/rig.ts';

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-sessions-'));
});
afterAll(() => rmSync(scratch, { recursive: true }));

test('a session keeps its state even if its service is killed between two steps or during a step', {
  tags: ['Sessions-8'],
}, async () => {
  const dataDir = join(scratch, 'killed');
  const serving = async () => {
    const service = new Command(['serve', '--port', '0', '--data-dir', dataDir, '--provider', 'namespace'], {
      env: { SERVICE_LEGACY_KEYS: 'alpha=key-of-alpha', SERVICE_LOG_LEVEL: 'silent', SERVICE_CANARIES: 'off' },
    });
    const [, baseUrl = ''] = await service.shows(/^listening on (http:\/\/\S+)\r?\n/m);
    return { service, client: createServiceClient({ baseUrl, apiKey: 'key-of-alpha' }) };
  };
  const first = await serving();
  await using _first = first.service;
  const before = await (await first.client.session('s')).run('xs = [1]');
  first.service.kill('SIGKILL');
  await first.service.ended();

  const second = await serving();
  await using _second = second.service;
  const session = await second.client.session('s');
  expect(session.lastJob).toBe(before.job_id);
  const next = await session.run('xs.append(2)');
  const code = 'xs.append(3)\nprint("begun", flush=True)\nimport time; time.sleep(60)';
  const { job_id } = await second.client.submit({
    language: 'python',
    code,
    session: { name: 's', after: next.job_id },
  });
  for await (const { kind } of second.client.follow(job_id)) if (kind === 'stdout') break;
  second.service.kill('SIGKILL');
  await second.service.ended();

  const third = await serving();
  await using _third = third.service;
  expect(await third.client.detail(job_id)).toMatchObject({ terminal_reason: 'server_restarted' });
  const found = await third.client.session('s');
  expect(found.lastJob).toBe(next.job_id);
  expect(await found.run('print(xs)')).toMatchObject({ stdout: '[1, 2]\n', moved: true });
  third.service.kill('SIGTERM');
  expect((await third.service.ended()).code).toBe(0);
  expect(leftoversOf(dataDir)).toEqual([]);
});

/** In a stopped service's store, makes a job older than any retention. */
function age({ dataDir }: Rig, job_id: string): void {
  using database = new DatabaseSync(join(dataDir, 'svc.db'));
  database.prepare('update jobs set finished_at = ? where job_id = ?').run('2020-01-01T00:00:00.000Z', job_id);
}

test('a session begins anew when its last successful step is removed, and ends when its last step is removed', {
  tags: ['Sessions-10'],
}, async () => {
  const first = await Rig.start({ provider: 'subprocess' });
  const session = await first.alpha.client.session('s');
  const good = await session.run('a = 1');
  await session.run('raise ValueError');
  expect(await first.stop('kept')).toEqual([]);
  age(first, good.job_id);
  const settings = { provider: 'subprocess', 'retention-days': '100' };
  const second = await Rig.start(settings, first.dataDir);
  const { client } = second.alpha;
  await expect.poll(async () => (await second.request(`/v1/jobs/${good.job_id}`)).status).toBe(404);
  const { json, status } = await second.post({
    language: 'python',
    code: '1',
    session: { name: 's', after: good.job_id },
  });
  expect([status, json.error.message]).toEqual([
    422,
    expect.stringMatching(/^\/session\/after names no job whose state/),
  ]);
  const again = await client.session('s');
  expect(again.lastJob).toBeNull();
  const anew = await again.run('print("a" in globals())');
  expect(anew).toMatchObject({ stdout: 'False\n', moved: true });
  expect((await client.sessions()).items).toMatchObject([{ name: 's', last_job_id: anew.job_id }]);
  expect(await second.stop('kept')).toEqual([]);
  age(first, anew.job_id);
  const third = await Rig.start(settings, first.dataDir);
  await expect.poll(async () => (await third.alpha.client.sessions()).items).toEqual([]);
  expect(await third.stop()).toEqual([]);
});

test('a session is exported as a graph, and each of its steps and states is verified offline', {
  tags: ['Sessions-2', 'Inputs-7'],
}, async () => {
  const rig = await Rig.start({ 'attestation-mode': 'on', provider: 'namespace' });
  const session = await rig.alpha.client.session('s');
  const steps = [];
  for (const code of ['xs = [1]', 'xs.append(2)', 'raise ValueError', 'print(xs)']) steps.push(await session.run(code));
  const [first, second, failed, last] = steps.map(({ job_id }) => job_id) as [string, string, string, string];
  expect(steps.at(-1)?.stdout).toBe('[1, 2]\n');
  const at = (...parts: string[]) => join(scratch, ...parts);
  await vouchbox(['attestation-keys', 'export', '--output', at('pinned.pem'), '--data-dir', rig.dataDir]);
  const access = ['--url', rig.service.url, '--key', rig.alpha.key];
  const exported = await vouchbox(['export', last, '--with-inputs', '--output', at('session'), ...access]);
  expect([exported.code, exported.stderr.includes(failed)]).toEqual([0, false]);
  expect(exported.stderr).toContain('it discloses 3 jobs');
  const verify = () => serviceVerify(['graph', at('session'), '--public-key', at('pinned.pem'), '--tenant', 'alpha']);
  const { exitCode, stdout } = await verify();
  expect([exitCode, ...stdout.split('\n').slice(-4, -1)]).toEqual([
    0,
    `${last}  succeeded`,
    `└─ input/.session/state ← output/.session/state of ${second}  succeeded`,
    `   └─ input/.session/state ← output/.session/state of ${first}  succeeded`,
  ]);
  writeFileSync(at('session', second, 'output/.session/state'), 'another state');
  expect((await verify()).exitCode).not.toBe(0);
  expect(await rig.stop()).toEqual([]);
});

test('a session continues in a service that starts from a backup', { tags: ['STORE-12'] }, async () => {
  const rig = await Rig.start({ provider: 'subprocess' });
  const session = await rig.alpha.client.session('s');
  const step = await session.run('a = 1\nopen("kept", "w").write("é")');
  expect((await vouchbox(['backup', join(scratch, 'store.db'), '--data-dir', rig.dataDir])).code).toBe(0);
  await session.run('a = 2');
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-rig-'));
  copyFileSync(join(scratch, 'store.db'), join(dataDir, 'svc.db'));
  const restored = await Rig.start({ provider: 'subprocess', 'store-check': 'full' }, dataDir);
  await expectGoesOn(restored, step.job_id);
  expect([...(await restored.stop()), ...(await rig.stop())]).toEqual([]);
});

test('a session continues in a store that was copied to PostgreSQL', async () => {
  const rig = await Rig.start({ provider: 'subprocess' });
  const session = await rig.alpha.client.session('s');
  const step = await session.run('a = 1\nopen("kept", "w").write("é")');
  await session.run('raise ValueError');
  expect(await rig.stop('kept')).toEqual([]);
  await using server = await startPostgres();
  const url = await newSchema(server.url);
  expect(await vouchbox(['copy-store', url, '--data-dir', rig.dataDir])).toMatchObject({ code: 0 });
  const settings = { provider: 'subprocess', 'database-url': url, 'store-check': 'full' };
  const copied = await Rig.start(settings, rig.dataDir);
  await expectGoesOn(copied, step.job_id);
  expect(await copied.stop()).toEqual([]);
});

/** Expects that the next steps continue the session, both if the client makes them and if an agent's tool makes them. */
async function expectGoesOn({ alpha: { client, key }, service: { url } }: Rig, lastJob: string): Promise<void> {
  const env = { PATH: process.env['PATH'] ?? '', SERVICE_URL: url, SERVICE_KEY: key };
  expect((await vouchbox(['sessions'], { env })).stdout).toMatch(new RegExp(`^s .*${lastJob}`, 'm'));
  const session = await client.session('s');
  expect(session.lastJob).toBe(lastJob);
  expect(await session.run('print(a, open("kept").read()); a += 1')).toMatchObject({ stdout: '1 é\n', moved: true });
  const agent = new Agent({ name: 'test', version: '1.0.0' });
  await agent.connect(new StdioClientTransport({ command: commandFile, args: ['mcp'], env, stderr: 'pipe' }));
  const words = { language: 'python', code: 'print(a)', session: 's' };
  const { structuredContent } = await agent.callTool({ name: 'run_code', arguments: words });
  expect(structuredContent).toMatchObject({ stdout: '2\n', session: { name: 's', moved: true } });
  await agent.close();
}
