/** Nodes with different roles in one service: an ordinary user's node serves callers; other nodes run and sign jobs. */
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceClient, type ServiceClient } from '@vouchbox/client';
import { verifyEnvelope } from '@vouchbox/evidence';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { dropSchema, newSchema } from '../../packages/server/src/store/postgres/schema.fixture.ts';
import { Command, vouchbox } from '../rig/command.ts';
import { leftoversOf } from '../rig/leftovers.ts';

const NOBODY = 65_534;
/** Runs a command as an ordinary user who has no privilege and cannot get one. */
const AS_NOBODY = [
  ...['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'],
  ...['--no-new-privs', '--inh-caps=-all', '--bounding-set=-all'],
];

let databaseUrl: string;
let signer: Node;
let api: Node;
beforeAll(async () => {
  databaseUrl = await newSchema(inject('postgresUrl'));
  signer = await Node.start('signer');
  api = await Node.start('api', AS_NOBODY);
});
afterAll(async () => {
  for (const node of [api, signer]) expect(await node.stop()).toEqual([]);
  await dropSchema(databaseUrl);
});

class Node {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'svc-roles-'));
  readonly command: Command;
  url = '';

  private constructor(roles: string, within: readonly string[]) {
    if (within.length > 0) chownSync(this.dataDir, NOBODY, NOBODY);
    const env = {
      SERVICE_ROLES: roles,
      SERVICE_DATABASE_URL: databaseUrl,
      SERVICE_PORT: '0',
      SERVICE_DATA_DIR: this.dataDir,
      SERVICE_PROVIDER: 'namespace',
      SERVICE_CONCURRENCY: '1',
      SERVICE_LEGACY_KEYS: 'alpha=key-of-alpha',
      SERVICE_METRICS_TOKEN: 'token-of-metrics',
      SERVICE_FREE_SPACE_RESERVE_MB: '0',
      SERVICE_RATE_BURST: '100000',
    };
    this.command = new Command(['serve'], { env, within });
  }

  static async start(roles: string, within: readonly string[] = []): Promise<Node> {
    const node = new Node(roles, within);
    const [, url = ''] = await node.command.shows(/^listening on (http:\/\/\S+)\n/m);
    node.url = url;
    return node;
  }

  get client(): ServiceClient {
    return createServiceClient({ baseUrl: this.url, apiKey: 'key-of-alpha' });
  }

  async get(path: string, token = 'key-of-alpha') {
    const answer = await fetch(this.url + path, { headers: { authorization: `Bearer ${token}` } });
    return { status: answer.status, text: await answer.text() };
  }

  /** The public half of the key in the node's data directory. */
  publicKey(): string {
    const directory = join(this.dataDir, 'attestation-keys/public-keys');
    return readFileSync(join(directory, readdirSync(directory)[0] ?? ''), 'utf8');
  }

  /** Stops the node, and returns what it left on the host. */
  async stop(): Promise<string[]> {
    this.command.kill('SIGTERM');
    const { code } = await this.command.ended();
    const left = leftoversOf(this.dataDir);
    rmSync(this.dataDir, { recursive: true });
    return code === 0 ? left : [...left, `exit code ${code}`];
  }
}

const hello = { language: 'bash', code: 'echo hello' } as const;

test('while no node runs programs, the API refuses jobs with 503 and readyz says unready', async () => {
  const submitted = await fetch(`${api.url}/v1/jobs`, {
    method: 'POST',
    headers: { authorization: 'Bearer key-of-alpha', 'content-type': 'application/json' },
    body: JSON.stringify(hello),
  });
  expect({ status: submitted.status, wait: submitted.headers.get('retry-after') }).toEqual({ status: 503, wait: '5' });
  expect(await submitted.json()).toMatchObject({
    error: { code: 'worker_unavailable', message: 'No node that runs programs is alive.', retryable: true },
  });
  expect(await api.client.capabilities()).toMatchObject({ languages: [], isolation_class: null });
  expect(await api.client.readiness()).toMatchObject({ status: 'unready', checks: { provider: false, store: true } });
});

test('three nodes share a job: one without privileges accepts it, one runs it, and one signs it', {
  tags: ['Bodies-14'],
}, async () => {
  const executor = await Node.start('executor');
  await expect.poll(async () => (await api.client.capabilities()).languages).toContain('bash');
  expect(await api.client.readiness()).toMatchObject({ status: 'ready' });
  const { job_id } = await api.client.submit(hello);
  expect(await api.client.waitForResult(job_id)).toMatchObject({ status: 'succeeded', stdout: 'hello\n' });
  const path = `/v1/jobs/${job_id}/attestation`;
  await expect.poll(async () => (await api.get(path)).status).toBe(200);
  const [envelope, artifact] = await Promise.all([api.get(path), api.get(`/v1/jobs/${job_id}/result-artifact`)]);
  const verification = await verifyEnvelope({
    envelope: Buffer.from(envelope.text),
    subject: Buffer.from(artifact.text),
    publicKeys: [signer.publicKey()],
    expected: {
      tenant: 'alpha',
      subjectName: `svc://jobs/${job_id}/result`,
      mediaType: 'application/vnd.svc.execution-result.v1+json',
    },
  });
  expect(verification).toMatchObject({ kind: 'verified', predicate: { isolationClass: 'linux-shared-kernel' } });
  for (const node of [api, executor]) expect(existsSync(join(node.dataDir, 'attestation-keys'))).toBe(false);
  const { public_key_pem, key_id } = await api.client.publicKey();
  expect(public_key_pem).toBe(signer.publicKey());
  expect((await api.client.capabilities()).signer).toEqual({ key_id, algorithm: 'Ed25519' });

  const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } } as const;
  const running = await api.client.submit(sleeper);
  for await (const { kind } of api.client.follow(running.job_id)) if (kind === 'stdout') break;
  const waiting = await api.client.submit(hello);
  const impossible = { ...hello, requirements: { minimum_isolation: 'hardware-vm' } } as const;
  await expect(api.client.submit(impossible)).rejects.toMatchObject({ code: 'minimum_isolation_unsatisfied' });
  expect((await api.client.detail(waiting.job_id)).status).toBe('queued');
  await api.client.cancel(running.job_id);
  expect((await api.client.waitForResult(running.job_id)).status).toBe('cancelled');
  expect((await api.client.waitForResult(waiting.job_id)).stdout).toBe('hello\n');

  const last = await api.client.submit(sleeper);
  for await (const { kind } of api.client.follow(last.job_id)) if (kind === 'stdout') break;
  const figures = async () => (await api.get('/metrics', 'token-of-metrics')).text;
  await expect.poll(figures).toContain('svc_fleet_claims 1\n');
  await expect.poll(async () => (await api.client.status()).nodes?.at(-1)?.slots_used).toBe(1);
  const alive = { version: expect.any(String) as unknown, last_beat_at: expect.stringMatching(/Z$/) as unknown };
  const idle = { ...alive, isolation_class: null, slots: 0, slots_used: 0, claims: 0 };
  const busy = { ...alive, isolation_class: 'linux-shared-kernel', slots: 1, slots_used: 1, claims: 1 };
  expect((await api.client.status()).nodes).toEqual([
    { ...idle, node: expect.any(Number) as unknown, roles: ['signer'], signs: true },
    { ...idle, node: expect.any(Number) as unknown, roles: ['api'], signs: false },
    { ...busy, node: expect.any(Number) as unknown, roles: ['executor'], signs: false },
  ]);
  const text = await figures();
  for (const role of ['api', 'executor', 'signer']) expect(text).toContain(`svc_fleet_nodes{role="${role}"} 1\n`);
  expect(text).toContain('svc_fleet_job_slots 1\n');
  expect(text).toContain('svc_fleet_jobs_recovered_total 0\n');
  expect(text).toContain('svc_node_lease_renewals_late_total ');
  await api.client.cancel(last.job_id);
  await api.client.waitForResult(last.job_id);
  expect(await executor.stop()).toEqual([]);
});

test('a node without the role api answers health checks and metrics, and answers every other path with 404', async () => {
  expect((await signer.get('/healthz')).status).toBe(200);
  expect((await signer.get('/readyz')).status).toBe(200);
  expect((await signer.get('/metrics', 'token-of-metrics')).text).toContain('svc_job_slots 0');
  expect((await signer.get('/metrics', 'another')).status).toBe(401);
  for (const path of ['/', '/v1/jobs', '/v1/status', '/dashboard', '/none']) {
    const { status, text } = await signer.get(path, 'unknown');
    expect({ status, body: JSON.parse(text) as unknown }).toMatchObject({
      status: 404,
      body: { error: { code: 'route_not_found', message: expect.stringContaining('the role api') as unknown } },
    });
  }
});

test('a node logs its roles when it starts', () => {
  const started = signer.command.stderr.split('\n').find((line) => line.includes('"started"')) ?? '{}';
  expect(JSON.parse(started)).toMatchObject({ roles: ['signer'], backend: null, isolation_class: null });
});

test('a node that lacks a role does not start if its store is a file, and says why in one line', async () => {
  const env = { SERVICE_ROLES: 'signer,api', SERVICE_DATA_DIR: '/nonexistent/data' };
  const { code, stderr } = await vouchbox(['serve'], { env });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^vouchbox: SERVICE_ROLES is api,signer, and a store in a file has one node[^\n]*\n$/);
});
