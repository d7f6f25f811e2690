/**
 * Spec § Versioning 3–6, § Events 7, § Job detail: this version serves, runs, ends and attests jobs that an older version
 * stored.
 */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createServiceClient, type ServiceClient } from '@vouchbox/client';
import { JobDetail, type JobEvent, LIMIT_DEFAULTS } from '@vouchbox/protocol';
import { serviceVerify } from '@vouchbox/verifier/command';
import { Check, Errors } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { Rig } from '../rig/rig.ts';

const fixtures = join(import.meta.dirname, '../../packages/server/src/store/sqlite/migrations/fixtures');
const settings = { 'legacy-keys': 'acme=key-of-acme,umbrella=key-of-umbrella', 'attestation-mode': 'on' };
const patient = { timeout: 30_000 };

/** The jobs in the stored v0.3 store, by their state when v0.3 stopped: ended, waiting or running. */
const ENDED = {
  acme: ['job_09', 'job_01', 'job_f0c1', 'job_a1b2', 'job_c3d4', 'job_d4e5', 'job_e5f6'],
  umbrella: ['job_02', 'job_b2c3'],
};
const WAITED = ['job_zz', 'job_07aa'];
const RAN = ['job_04', 'job_00bb'];
const every = [
  ...[...ENDED.acme, ...WAITED, ...RAN].map((job) => ['acme', job] as const),
  ...ENDED.umbrella.map((job) => ['umbrella', job] as const),
];

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

let rig: Rig;
const clients = new Map<string, ServiceClient>();
const clientOf = (tenant: string) => clients.get(tenant) as ServiceClient;
const eventsOf = (tenant: string, job_id: string): Promise<JobEvent[]> =>
  Array.fromAsync(clientOf(tenant).events(job_id, { limit: 1000 }));

beforeAll(async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-upgrade-'));
  copyFileSync(join(fixtures, 'v0.3.db'), join(dataDir, 'svc.db'));
  rig = await Rig.start(settings, dataDir);
  for (const tenant of ['acme', 'umbrella']) {
    clients.set(tenant, createServiceClient({ baseUrl: rig.service.url, apiKey: `key-of-${tenant}` }));
  }
  for (const job of WAITED) await clientOf('acme').waitForResult(job);
});
const evidence = mkdtempSync(join(tmpdir(), 'svc-evidence-'));
afterAll(async () => {
  rmSync(evidence, { recursive: true });
  expect(await rig.stop()).toEqual([]);
});

describe('after an upgrade', () => {
  test.each(every)('the detail of %s’s %s fits the contract', async (tenant, job_id) => {
    const detail: unknown = await clientOf(tenant).detail(job_id);
    expect([...Errors(JobDetail, detail)]).toEqual([]);
    expect(Check(JobDetail, detail)).toBe(true);
  });

  test.each(ENDED.acme)(
    'the detail of %s has null for each fact that the older version did not record (Spec § Job detail)',
    { tags: ['Detail-4', 'Detail-5'] },
    async (job_id) => {
      expect(await clientOf('acme').detail(job_id)).toMatchObject({
        effective_spec: null,
        backend: null,
        bootstrap_ready: null,
        networking: null,
        limit_enforcement: null,
      });
    },
  );

  test('v0.1 events are served with hash version 0, and their chain is called incomplete (Spec § Events 7)', {
    tags: ['Events-7c', 'Versioning-3', 'CHAIN-13'],
  }, async () => {
    for (const event of await eventsOf('acme', 'job_09')) {
      expect(event).toMatchObject({ hash_version: 0, prev_hash: null, event_hash: null });
    }
    expect((await clientOf('acme').detail('job_09')).receipt?.event_chain).toMatchObject({ complete: false, count: 0 });
    expect(await clientOf('acme').result('job_09')).toMatchObject({ stdout: 'first\n', stderr: 'é\n', exit_code: 0 });
  });

  test('queued jobs run, with the defaults for limits that the older version did not record', async () => {
    const plain = await clientOf('acme').detail('job_zz');
    expect(plain).toMatchObject({ status: 'succeeded', requested_spec: { limits: {} } });
    expect(plain.effective_spec?.limits).toMatchObject({ wall_seconds: 10, mem_mb: 256 });
    expect((await clientOf('acme').result('job_zz')).stdout).toBe('after the upgrade\n');
    const whole = await clientOf('acme').result('job_07aa');
    expect(whole).toMatchObject({ status: 'succeeded', stdout: 'hé\n' });
    expect(whole.artifacts).toMatchObject([{ path: 'output/b', content_base64: 'YQ==' }]);
    expect((await clientOf('acme').detail('job_07aa')).effective_spec?.limits).toMatchObject({ cpu_seconds: 2 });
  });

  test('queued jobs get receipts about what was submitted, with the limits under which they ran', {
    tags: ['Receipt-1'],
  }, async () => {
    for (const job of WAITED) {
      const { receipt, requested_spec } = await clientOf('acme').detail(job);
      expect(receipt).toMatchObject({
        language: requested_spec.language,
        runtime: null,
        code_sha256: sha256(requested_spec.code ?? ''),
        policy_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      });
      expect(receipt?.requested_limits).toEqual({ ...LIMIT_DEFAULTS, ...requested_spec.limits });
    }
    expect((await clientOf('acme').detail('job_zz')).receipt).toMatchObject({
      stdin_sha256: null,
      input_artifacts: [],
    });
    expect((await clientOf('acme').detail('job_07aa')).receipt).toMatchObject({
      stdin_sha256: sha256('hé'),
      input_artifacts: [{ path: 'input/a', size_bytes: 1, sha256: sha256('a') }],
    });
  });

  test('a chain that continues after v0.1 events is called incomplete', {
    tags: ['Receipt-21'],
  }, async () => {
    const events = await eventsOf('acme', 'job_zz');
    expect(events.map(({ seq, hash_version }) => [seq, hash_version])).toEqual([
      [1, 0],
      [2, 1],
      [3, 1],
      [4, 1],
    ]);
    expect(events[1]?.prev_hash).toBe('0'.repeat(64));
    const { receipt } = await clientOf('acme').detail('job_zz');
    expect(receipt?.event_chain).toMatchObject({ count: 3, head: events[3]?.event_hash, complete: false });
    expect((await clientOf('acme').detail('job_07aa')).receipt?.event_chain.complete).toBe(true);
  });

  test.each(RAN)(
    '%s ran when the older service stopped, and ends as server_restarted',
    { tags: ['States-2'] },
    async (job_id) => {
      expect(await clientOf('acme').detail(job_id)).toMatchObject({
        status: 'error',
        terminal_reason: 'server_restarted',
        receipt: { terminal_reason: 'server_restarted' },
      });
    },
  );

  test('jobs are listed to their own tenant, in pages, in the order of their submission', async () => {
    const pages = await Array.fromAsync(clientOf('acme').listAll({ limit: 2 }));
    expect(pages.map((item) => item.job_id)).toEqual([
      'job_00bb',
      'job_07aa',
      'job_e5f6',
      'job_d4e5',
      'job_c3d4',
      'job_a1b2',
      'job_f0c1',
      'job_04',
      'job_zz',
      'job_01',
      'job_09',
    ]);
    await expect(clientOf('umbrella').detail('job_09')).rejects.toMatchObject({ code: 'job_not_found' });
  });
});

describe('after an upgrade, every ended job is attested', () => {
  test('the statement embeds a v0.3 receipt unchanged, with the job’s tenant (Spec § Result artifact)', {
    tags: ['Artifact-6', 'Artifact-7', 'Versioning-5b'],
  }, async () => {
    using stored = new DatabaseSync(join(fixtures, 'v0.3.db'), { readOnly: true });
    const row = stored.prepare("select receipt_json from receipts where job_id = 'job_b2c3'").get();
    const receipt: unknown = JSON.parse(String(row?.['receipt_json']));
    await attested('umbrella', 'job_b2c3');
    const { bytes } = await clientOf('umbrella').attestation('job_b2c3');
    const { payload } = JSON.parse(Buffer.from(bytes).toString()) as { payload: string };
    const { predicate } = JSON.parse(Buffer.from(payload, 'base64').toString());
    expect(predicate).toMatchObject({ tenant: 'umbrella', receipt });
    expect(predicate.receipt).toEqual(receipt);
    expect(predicate.receipt).not.toHaveProperty('tenant');
    const result = await clientOf('umbrella').resultArtifact('job_b2c3');
    expect(JSON.parse(Buffer.from(result.bytes).toString())).toMatchObject({
      tenant: 'umbrella',
      stdout: 'job_b2c3\n',
    });
  });

  test.each(every)(
    'service-verify accepts the attestation and the history of %s’s %s',
    { tags: ['Versioning-4'] },
    async (tenant, job_id) => {
      await attested(tenant, job_id);
      const put = (name: string, content: Uint8Array | string) => {
        const path = join(evidence, `${job_id}-${name}`);
        writeFileSync(path, content);
        return path;
      };
      const envelope = put('envelope', (await clientOf(tenant).attestation(job_id)).bytes);
      const subject = put('subject', (await clientOf(tenant).resultArtifact(job_id)).bytes);
      const key = put('key.pem', (await clientOf(tenant).publicKey()).public_key_pem);
      const of = ['--envelope', envelope, '--subject', subject, '--public-key', key, '--tenant', tenant];
      const media = ['--media-type', 'application/vnd.svc.execution-result.v1+json'];
      const name = ['--subject-name', `svc://jobs/${job_id}/result`];
      expect(await serviceVerify(['verify', ...of, ...name, ...media])).toMatchObject({ exitCode: 0 });
      const history = put(
        'events.ndjson',
        (await eventsOf(tenant, job_id)).map((event) => JSON.stringify(event)).join('\n'),
      );
      const receipt = put('receipt.json', JSON.stringify((await clientOf(tenant).detail(job_id)).receipt));
      expect(await serviceVerify(['chain', '--receipt', receipt, history])).toMatchObject({ exitCode: 0 });
    },
  );

  test('an attestation by a key that this service never had is withdrawn, and the job is signed again', {
    tags: ['Versioning-6'],
  }, async () => {
    await attested('acme', 'job_a1b2');
    const { key_id } = await clientOf('acme').publicKey();
    expect((await clientOf('acme').detail('job_a1b2')).attestation).toMatchObject({ key_id, tenant: 'acme' });
  });
});

/** Waits until the bytes are served. If a foreign key signed the attestation, this request makes the service withdraw it. */
async function attested(tenant: string, job_id: string): Promise<void> {
  const served = async () => (await fetchPart(tenant, job_id)).status;
  await expect.poll(served, patient).toBe(200);
}

function fetchPart(tenant: string, job_id: string): Promise<Response> {
  const headers = { authorization: `Bearer key-of-${tenant}` };
  return fetch(`${rig.service.url}/v1/jobs/${job_id}/attestation`, { headers });
}

test('service-verify chain says that v0.1 events prove nothing, alone or with their receipt', async () => {
  const history = join(evidence, 'first.ndjson');
  const receipt = join(evidence, 'first.json');
  const events = await eventsOf('acme', 'job_09');
  writeFileSync(history, events.map((event) => JSON.stringify(event)).join('\n'));
  writeFileSync(receipt, JSON.stringify((await clientOf('acme').detail('job_09')).receipt));
  const beside = await serviceVerify(['chain', '--receipt', receipt, history]);
  expect(`${beside.exitCode} ${beside.stdout}`).toMatch(/^0 .*after 5 migrated events that prove nothing/s);
  const alone = await serviceVerify(['chain', history]);
  expect(`${alone.exitCode} ${alone.stdout}${alone.stderr}`).toMatch(/^6 .*there is nothing to verify/s);
});

test('a v0.1 store is upgraded in one start, and each of its ended jobs is attested', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-upgrade-'));
  copyFileSync(join(fixtures, 'v0.1.db'), join(dataDir, 'svc.db'));
  const first = await Rig.start(settings, dataDir);
  const client = createServiceClient({ baseUrl: first.service.url, apiKey: 'key-of-acme' });
  const { receipt } = await client.detail('job_09');
  expect(receipt).toMatchObject({ status: 'succeeded', event_chain: { complete: false, count: 0 } });
  for (const job_id of ['job_09', 'job_01', 'job_04']) {
    const isAttested = async () => (await client.detail(job_id)).attestation.available;
    await expect.poll(isAttested, patient).toBe(true);
  }
  expect(await first.stop()).toEqual([]);
});

test('a store from a newer version is refused in one line and left unchanged', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-upgrade-'));
  const file = join(dataDir, 'svc.db');
  copyFileSync(join(fixtures, 'v0.3.db'), file);
  using database = new DatabaseSync(file);
  database.exec("insert into schema_history values ('0099-later', '2030-01-01T00:00:00.000Z')");
  const rows = () => database.prepare('select (select count(*) from schema_history) as schemas, * from jobs').all();
  const before = rows();
  const told = await vouchbox(['serve', '--data-dir', dataDir, '--port', '0', '--provider', 'subprocess']);
  expect(told).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^vouchbox: [^\n]*newer than[^\n]*\n$/),
  });
  expect(rows()).toEqual(before);
  rmSync(dataDir, { recursive: true });
});

test('a copy of the older store stays beside the upgraded store', () => {
  const copy = readFileSync(join(rig.dataDir, 'svc.db.before-0004-store'));
  expect(copy.subarray(0, 15).toString()).toBe('SQLite format 3');
});
