/**
 * Spec § Attestation member, § Result artifact, § GET attestation and result-artifact, § GET /v1/attestation/public-key,
 * § Authentication 10.
 */

import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sha256Hex, verifyEnvelope } from '@vouchbox/evidence';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { type Ran, Rig, type Tenant } from '../rig/rig.ts';

const signing = { 'attestation-mode': 'on' };
/** The timeout for polls, long enough for a host that is busy with other work. */
const patient = { timeout: 30_000 };
const hello = { language: 'bash', code: 'echo hello; echo oops >&2; exit 3' };

let rig: Rig;
let ran: Ran;
beforeAll(async () => {
  rig = await Rig.start(signing);
  ran = await rig.run(hello);
});
afterAll(async () => {
  expect(await rig.stop()).toEqual([]);
});

/** The bytes of the envelope and the artifact, once both can be read. */
async function attested({ alpha }: Rig, job_id: string, { client }: Tenant = alpha) {
  await expect.poll(async () => (await client.detail(job_id)).attestation.available, patient).toBe(true);
  return { envelope: await client.attestation(job_id), result: await client.resultArtifact(job_id) };
}

const urlOf = (part: 'attestation' | 'result-artifact', job_id = ran.job_id) => `/v1/jobs/${job_id}/${part}`;
const exactBytes = async (path: string) => {
  const response = await fetch(rig.service.url + path, { headers: { authorization: `Bearer ${rig.alpha.key}` } });
  return { headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) };
};

describe('an attestation', () => {
  test('verifies under the service’s key, and states tenant, job, outcome and posture', {
    tags: ['What-4a', 'Artifact-5', 'Artifact-8'],
  }, async () => {
    const { envelope, result } = await attested(rig, ran.job_id);
    const { public_key_pem, key_id } = await rig.alpha.client.publicKey();
    const verification = await verifyEnvelope({
      envelope: envelope.bytes,
      subject: result.bytes,
      publicKeys: [public_key_pem],
      expected: {
        tenant: 'alpha',
        subjectName: `svc://jobs/${ran.job_id}/result`,
        mediaType: 'application/vnd.svc.execution-result.v1+json',
      },
    });
    expect(verification).toMatchObject({
      kind: 'verified',
      key_id,
      predicate: {
        tenant: 'alpha',
        jobId: ran.job_id,
        status: 'failed',
        exitCode: 3,
        isolationClass: 'linux-shared-kernel',
        networking: 'disabled',
        receiptSha256: ran.detail.receipt_sha256,
        eventChainHead: ran.detail.receipt?.event_chain.head,
        eventCount: ran.events.length,
        receipt: ran.detail.receipt,
      },
    });
  });

  test('covers a result artifact with the authoritative tenant, outcome, output and receipt digest', {
    tags: ['Artifact-2', 'Artifact-3', 'Artifact-4', 'Versioning-4a'],
  }, async () => {
    const { result } = await attested(rig, ran.job_id);
    expect(JSON.parse(new TextDecoder().decode(result.bytes))).toMatchObject({
      _type: 'urn:svc:execution-result:v1',
      schema_version: 1,
      tenant: 'alpha',
      job_id: ran.job_id,
      status: 'failed',
      exit_code: 3,
      stdout: 'hello\n',
      stderr: 'oops\n',
      truncated: false,
      violations: [],
      receipt_sha256: ran.detail.receipt_sha256,
    });
  });

  test("is described in the job's detail, with the digests, sizes and addresses of the served bytes", {
    tags: [
      'Attestation-2',
      'Attestation-4',
      'Attestation-5',
      'Attestation-6',
      'Attestation-7',
      'Attestation-8',
      'Attestation-9',
      'Attestation-10',
    ],
  }, async () => {
    const { envelope, result } = await attested(rig, ran.job_id);
    const { attestation, receipt_sha256 } = await rig.alpha.client.detail(ran.job_id);
    expect(attestation).toEqual({
      available: true,
      tenant: 'alpha',
      key_id: (await rig.alpha.client.publicKey()).key_id,
      receipt_sha256,
      result_media_type: 'application/vnd.svc.execution-result.v1+json',
      result_sha256: sha256Hex(result.bytes),
      result_size_bytes: result.bytes.length,
      envelope_sha256: sha256Hex(envelope.bytes),
      envelope_size_bytes: envelope.bytes.length,
      envelope_url: urlOf('attestation'),
      result_artifact_url: urlOf('result-artifact'),
    });
    const { items } = await rig.alpha.client.list();
    expect(items.find(({ job_id }) => job_id === ran.job_id)).toMatchObject({ attestation_available: true });
  });

  test.each([
    ['attestation', 'application/vnd.dsse.envelope.v1+json'],
    ['result-artifact', 'application/vnd.svc.execution-result.v1+json'],
  ] as const)(
    'GET %s has its media type, Content-Length and X-Content-Sha256',
    { tags: ['Evidence-2'] },
    async (part, mediaType) => {
      const { headers, bytes } = await exactBytes(urlOf(part));
      expect(headers.get('content-type')).toBe(mediaType);
      expect(headers.get('content-length')).toBe(String(bytes.length));
      expect(headers.get('x-content-sha256')).toBe(sha256Hex(bytes));
    },
  );

  test('is made even for a job that was cancelled before it ran, and then claims no posture', {
    tags: ['Receipt-11'],
  }, async () => {
    const sleeper = { language: 'bash', code: 'sleep 300', limits: { wall_seconds: 300 } };
    const single = await Rig.start({ ...signing, concurrency: '1', 'drain-seconds': '0' });
    const { client } = single.alpha;
    const running = await client.submit(sleeper);
    const { job_id } = await client.submit(hello);
    await client.cancel(job_id);
    const { envelope } = await attested(single, job_id);
    const { payload } = JSON.parse(new TextDecoder().decode(envelope.bytes)) as { payload: string };
    expect(JSON.parse(Buffer.from(payload, 'base64').toString())).toMatchObject({
      predicate: { status: 'cancelled', exitCode: null, isolationClass: null, networking: null },
    });
    await client.cancel(running.job_id);
    expect(await single.stop()).toEqual([]);
  });
});

describe('an attestation that cannot be read', () => {
  test.each(['attestation', 'result-artifact'] as const)(
    'GET %s of a running job is answered with 409',
    { tags: ['States-4', 'Evidence-7', 'Errors-11'] },
    async (part) => {
      const { job_id } = await rig.alpha.client.submit({ language: 'bash', code: 'sleep 60' });
      const { status, json } = await rig.request(urlOf(part, job_id));
      expect([status, json.error.code]).toEqual([409, 'job_not_terminal']);
      await rig.alpha.client.cancel(job_id);
    },
  );

  test.each(['attestation', 'result-artifact'] as const)(
    "GET %s of another tenant's job, or of an unknown job, is answered with 404",
    { tags: ['Evidence-3'] },
    async (part) => {
      await attested(rig, ran.job_id);
      const foreign = await rig.request(urlOf(part), { key: rig.beta.key });
      const unknown = await rig.request(urlOf(part, 'job_unknown'));
      expect([foreign.status, foreign.json.error.code]).toEqual([404, 'job_not_found']);
      expect({ ...foreign.json.error, request_id: '' }).toEqual({ ...unknown.json.error, request_id: '' });
    },
  );
});

describe('the key of the service', () => {
  test('is served as canonical PEM with its id and a notice that it is not a trust anchor', {
    tags: ['Bodies-4', 'PublicKey-1', 'Authentication-10'],
  }, async () => {
    const { json } = await rig.request('/v1/attestation/public-key');
    expect(json.algorithm).toBe('Ed25519');
    expect(json.public_key_pem).toMatch(/^-----BEGIN PUBLIC KEY-----\n[A-Za-z0-9+/=]{60}\n-----END PUBLIC KEY-----\n$/);
    expect(json.trust_notice).toMatch(/not an independent trust anchor/);
    const der = Buffer.from(json.public_key_pem.split('\n')[1], 'base64');
    expect(json.key_id).toBe(`sha256:${sha256Hex(der)}`);
    const capabilities = await rig.request('/v1/capabilities');
    expect(capabilities.json.signer).toEqual({ key_id: json.key_id, algorithm: 'Ed25519' });
    expect(capabilities.json.features).toContain('attestation');
  });

  test('is rotated without a restart, and signatures by the old key are served unchanged', {
    tags: ['Authentication-10a'],
  }, async () => {
    const before = await attested(rig, ran.job_id);
    const old = await rig.alpha.client.publicKey();
    const rotated = await vouchbox(['attestation-keys', 'rotate', '--data-dir', rig.dataDir]);
    expect(rotated.code).toBe(0);
    const fresh = await rig.alpha.client.publicKey();
    expect(rotated.stdout).toBe(`${fresh.key_id}\n`);
    expect(fresh.key_id).not.toBe(old.key_id);
    const { job_id } = await rig.run(hello);
    await attested(rig, job_id);
    expect((await rig.alpha.client.detail(job_id)).attestation.key_id).toBe(fresh.key_id);
    expect(await attested(rig, ran.job_id)).toEqual(before);
    const exported = await vouchbox(['attestation-keys', 'export', old.key_id, '--data-dir', rig.dataDir]);
    expect(exported.stdout).toBe(old.public_key_pem);
  });
});

slowTest(
  'the bytes of an attestation are the same after a restart (ATT-05), and tampered bytes are not served (ATT-10)',
  {
    tags: ['Artifact-1', 'Evidence-1', 'ATT-05', 'ATT-10'],
  },
  async () => {
    const first = await Rig.start(signing);
    const [job, other] = [await first.run(hello), await first.run(hello)];
    const before = await attested(first, job.job_id);
    await attested(first, other.job_id);
    expect(await first.stop('kept')).toEqual([]);

    const second = await Rig.start(signing, first.dataDir);
    expect(await attested(second, job.job_id)).toEqual(before);
    expect(await second.stop('kept')).toEqual([]);

    withStore(first.dataDir, (database) =>
      database
        .prepare(
          `update attestations set (envelope, envelope_sha256, envelope_size_bytes) =
          (select envelope, envelope_sha256, envelope_size_bytes from attestations as other where other.job_id = ?)
          where job_id = ?`,
        )
        .run(other.job_id, job.job_id),
    );
    const third = await Rig.start(signing, first.dataDir);
    const { status, json, headers } = await third.request(urlOf('attestation', job.job_id));
    expect([status, json.error.code, json.error.retryable]).toEqual([404, 'attestation_unavailable', true]);
    expect(headers.get('retry-after')).toBe('1');
    expect(await attested(third, job.job_id)).toEqual(before);
    expect(await third.stop()).toEqual([]);
  },
);

test('a service whose key is missing runs jobs unsigned, says why, and signs them once the key is back (ATT-07)', {
  timeout: 60_000,
  tags: ['Attestation-1', 'States-3a', 'ATT-07'],
}, async () => {
  const own = await Rig.start(signing);
  const path = join(own.dataDir, 'attestation-keys', 'signing-key.pem');
  renameSync(path, `${path}.away`);
  const { job_id, detail } = await own.run(hello);
  expect(detail).toMatchObject({ status: 'failed', attestation: { available: false, envelope_url: null } });
  const { status, json, headers } = await own.request(urlOf('attestation', job_id));
  expect([status, json.error.code, json.error.retryable]).toEqual([404, 'attestation_unavailable', true]);
  expect(headers.get('retry-after')).toBe('1');
  const signer = async () => (await own.request('/v1/status')).json.signer;
  await expect
    .poll(signer, patient)
    .toMatchObject({ enabled: true, outbox_depth: 1, last_error: 'the signing key is missing' });
  renameSync(`${path}.away`, path);
  await attested(own, job_id);
  await expect.poll(signer, patient).toMatchObject({ outbox_depth: 0, last_error: null });
  expect(await own.stop()).toEqual([]);
});

test('a service with signing off makes no key and signs nothing, but still serves earlier attestations', {
  tags: ['Authentication-10f', 'Evidence-8', 'PublicKey-2'],
}, async () => {
  const off = await Rig.start({ 'attestation-mode': 'off' });
  const { job_id, detail } = await off.run(hello);
  expect(detail.attestation.available).toBe(false);
  for (const path of [urlOf('attestation', job_id), urlOf('result-artifact', job_id), '/v1/attestation/public-key']) {
    const { status, json } = await off.request(path);
    expect([status, json.error.code, json.error.retryable]).toEqual([404, 'attestation_disabled', false]);
  }
  const { signer } = (await off.request('/v1/capabilities')).json;
  expect(signer).toBeNull();
  expect((await off.request('/v1/status')).json.signer).toMatchObject({ enabled: false, outbox_depth: 1 });
  expect(await off.stop('kept')).toEqual([]);
  const listed = await vouchbox(['attestation-keys', 'list', '--json', '--data-dir', off.dataDir]);
  expect(listed).toMatchObject({ code: 0, stdout: '[]\n' });

  const on = await Rig.start(signing, off.dataDir);
  await attested(on, job_id);
  const signed = await on.alpha.client.detail(job_id);
  const envelope = await on.alpha.client.attestation(job_id);
  const publicKey = await on.alpha.client.publicKey();
  expect(await on.stop('kept')).toEqual([]);
  const again = await Rig.start({ 'attestation-mode': 'off' }, off.dataDir);
  // Signing is off. Stored attestations are still checked and served.
  expect((await again.alpha.client.detail(job_id)).attestation).toEqual(signed.attestation);
  expect((await again.alpha.client.list()).items[0]).toMatchObject({ attestation_available: true });
  expect(await again.alpha.client.attestation(job_id)).toEqual(envelope);
  expect((await again.request(urlOf('result-artifact', job_id))).status).toBe(200);
  expect(await again.alpha.client.publicKey()).toEqual(publicKey);
  expect((await again.request('/v1/capabilities')).json.signer).toBeNull();
  expect(await again.stop()).toEqual([]);
});

slowTest(
  'a signed job older than the retention is removed with its idempotency key, but an unsigned job stays',
  {
    tags: ['Submit-1d', 'IDEM-09'],
  },
  async () => {
    const first = await Rig.start(signing);
    const submission = { body: hello, headers: { 'idempotency-key': 'once' } };
    const { job_id } = (await first.post(hello, submission)).json;
    await first.ended(job_id);
    await attested(first, job_id);
    expect(await first.stop('kept')).toEqual([]);
    withStore(first.dataDir, (database) => database.exec(`update jobs set finished_at = '2020-01-01T00:00:00.000Z'`));

    const second = await Rig.start({ ...signing, 'retention-days': '30' }, first.dataDir);
    await expect.poll(async () => (await second.request(`/v1/jobs/${job_id}`)).status, patient).toBe(404);
    const repeated = await second.post(hello, submission);
    expect(repeated.headers.get('idempotency-replayed')).toBe('false');
    await second.ended(repeated.json.job_id);
    expect(await second.stop()).toEqual([]);
  },
);

function withStore(dataDir: string, work: (database: DatabaseSync) => void): void {
  using database = new DatabaseSync(join(dataDir, 'svc.db'));
  work(database);
}

describe('a signed statement has, in addition to the receipt,', () => {
  /** The salts and numbers of all the tenant's jobs, newest first. */
  async function stated(of: Rig, tenant: Tenant) {
    const { items } = await tenant.client.list();
    const predicates = items.map(async ({ job_id }) => {
      const { envelope } = await attested(of, job_id, tenant);
      const { payload } = JSON.parse(new TextDecoder().decode(envelope.bytes)) as { payload: string };
      const { predicate } = JSON.parse(atob(payload)) as { predicate: { salt?: string; tenantJobNumber?: number } };
      return predicate;
    });
    return await Promise.all(predicates);
  }

  const salts = (predicates: readonly { salt?: string }[]) => new Set(predicates.map(({ salt }) => salt ?? 'none'));

  test('a salt and its job’s number, also for the jobs of a pair or a grading', {
    tags: ['Artifact-12', 'Artifact-13'],
  }, async () => {
    const { client } = rig.beta;
    const before = (await stated(rig, rig.beta)).length;
    const pair = await client.submit({
      language: 'bash',
      code: 'read a; echo $a',
      interactor: { language: 'bash', code: 'echo b' },
    });
    await client.waitForResult(pair.job_id);
    const grading = {
      programs: [{ language: 'bash', code: 'cat' }],
      tests: [{ name: 'a', stdin: '1', expected: '1' }],
    };
    const { grading_id } = await client.submitGrading(grading, { idempotencyKey: 'salted' });
    await client.waitForGrading(grading_id);
    const predicates = await stated(rig, rig.beta);
    expect(predicates.length).toBeGreaterThanOrEqual(before + 4);
    expect(predicates.map(({ tenantJobNumber = 0 }) => tenantJobNumber).toSorted((one, other) => one - other)).toEqual(
      predicates.map((_, at) => at + 1),
    );
    expect(salts(predicates).size).toBe(predicates.length);
    for (const salt of salts(predicates)) expect(salt).toMatch(/^[0-9a-f]{32}$/);
  });

  slowTest('no number if the operator turned numbers off', { tags: ['Artifact-13'] }, async () => {
    const silent = await Rig.start({ ...signing, 'log-counter': 'off' });
    await silent.run(hello);
    const predicates = await stated(silent, silent.alpha);
    expect(salts(predicates)).not.toContain('none');
    expect(predicates).toHaveLength(1);
    expect(predicates[0]).not.toHaveProperty('tenantJobNumber');
    expect(await silent.stop()).toEqual([]);
  });
});
