/**
 * Canaries: jobs that the service itself submits. They try what cells must refuse. Later results name the newest
 * canary, and `service-verify` judges it. docs/decisions/0068.
 */
import { mkdtempSync, promises, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CANARY_TENANT,
  canaryFindings,
  decodeEnvelope,
  decodeStatement,
  type ExecutionPredicate,
} from '@vouchbox/evidence';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { Rig } from '../rig/rig.ts';

const WITH_CANARIES = { 'attestation-mode': 'on', canaries: 'on' };
const python = { language: 'python', code: 'print("hi")' } as const;

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-canaries-test-'));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

let written = 0;
const fresh = () => join(scratch, `file-${++written}`);
function file(content: string | Uint8Array): string {
  const path = fresh();
  writeFileSync(path, content);
  return path;
}

function predicateOf(envelope: Uint8Array): ExecutionPredicate {
  const decoded = decodeEnvelope(envelope);
  const statement = decoded.kind === 'refused' ? decoded : decodeStatement(decoded.envelope.payload);
  if (statement.kind === 'refused') throw new Error(statement.reason);
  return statement.statement.predicate as unknown as ExecutionPredicate;
}

async function signed(rig: Rig, job_id: string): Promise<Uint8Array> {
  const { bytes } = await vi.waitFor(() => rig.alpha.client.attestation(job_id), { timeout: 20_000, interval: 100 });
  return bytes;
}

/** Runs jobs until one names a canary. The first job starts the first canary, which is signed a moment later. */
async function jobWithCanary(rig: Rig): Promise<string> {
  const named = async () => {
    const { job_id } = await rig.alpha.client.run(python);
    expect(predicateOf(await signed(rig, job_id)).also).toHaveProperty('canary');
    return job_id;
  };
  return await vi.waitFor(named, { timeout: 60_000, interval: 300 });
}

describe.each([
  ['namespace', 'linux-shared-kernel'],
  ['gvisor', 'gvisor-application-kernel'],
] as const)('in cells of the class of %s', (provider, isolation_class) => {
  let rig: Rig;
  let first: string;
  let job: string;
  beforeAll(async () => {
    rig = await Rig.start({ ...WITH_CANARIES, provider }, join(scratch, provider));
    first = (await rig.alpha.client.run(python)).job_id;
    job = await jobWithCanary(rig);
  });
  afterAll(async () => expect(await rig.stop()).toEqual([]));

  test("a job's canary tried everything that cells must refuse, and the canary's cell refused everything", {
    tags: ['Canary-1'],
  }, async () => {
    const canary = predicateOf((await rig.alpha.client.canary(job)).bytes);
    const { tries, problem } = canaryFindings(canary);
    expect(problem).toBeNull();
    expect(tries.map(({ tried }) => tried)).toEqual(
      expect.arrayContaining(['mount', 'ptrace', 'egress_ipv4', 'egress_metadata', 'processes', 'memory']),
    );
    expect(canary).toMatchObject({ tenant: CANARY_TENANT, isolationClass: isolation_class });
  });

  test('a job’s statement names its canary by digest, and names the build of its node', {
    tags: ['Canary-2'],
  }, async () => {
    const { also, finishedAt } = predicateOf(await signed(rig, job));
    const named = also?.['canary'] as { sha256: string; finishedAt: string };
    expect(named.sha256).toBe((await rig.alpha.client.canary(job)).sha256);
    expect(Date.parse(named.finishedAt)).toBeLessThanOrEqual(Date.parse(finishedAt));
    const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/) as string;
    const program = provider === 'gvisor' ? 'svc-sentry' : 'svc-launcher';
    expect(also?.['build']).toMatchObject({ server: sha256, programs: { [program]: sha256 } });
  });

  test('an export puts the canary beside its directory, and service-verify can require a canary', {
    tags: ['Canary-3'],
  }, async () => {
    const [directory, canary] = [fresh(), fresh()];
    const { url } = rig.service;
    const words = ['export', job, '--output', directory, '--canary', canary, '--url', url, '--key', rig.alpha.key];
    expect(await vouchbox(words)).toMatchObject({ code: 0 });
    const pinned = file((await rig.alpha.client.publicKey()).public_key_pem);
    const verify = (...more: readonly string[]) =>
      serviceVerify(['directory', directory, '--public-key', pinned, '--tenant', 'alpha', ...more]);
    const young = ['--require', 'canary_age<=10m'];
    const good = await verify('--canary', canary, ...young);
    expect(good).toMatchObject({ exitCode: 0 });
    expect(good.stdout).toMatch(/REFUSED: 1[0-9] tries were refused, \d+ s before the job ended/);
    expect(await verify(...young)).toMatchObject({ exitCode: 5 });
    expect(await verify('--canary', canary, '--require', 'canary_age<=0s')).toMatchObject({ exitCode: 5 });
    expect(await verify('--canary', file(await signed(rig, job)), ...young)).toMatchObject({ exitCode: 6 });
  });

  test('the statement of a job that ended before the first canary names no canary', {
    tags: ['Canary-4'],
  }, async () => {
    expect(predicateOf(await signed(rig, first)).also ?? {}).not.toHaveProperty('canary');
    const refused = await rig.request(`/v1/jobs/${first}/canary`);
    expect([refused.status, refused.json.error.code]).toEqual([404, 'canary_not_found']);
  });

  test('a canary belongs to no tenant, so no tenant can list or read it', { tags: ['Canary-5'] }, async () => {
    const { job_id } = predicateOf((await rig.alpha.client.canary(job)).bytes).receipt as { job_id: string };
    for (const tenant of [rig.alpha, rig.beta]) {
      expect((await rig.request(`/v1/jobs/${job_id}`, { key: tenant.key })).status).toBe(404);
      const { items } = (await rig.request('/v1/jobs?limit=100', { key: tenant.key })).json as {
        items: { job_id: string }[];
      };
      expect(items.map((listed) => listed.job_id)).not.toContain(job_id);
    }
  });

  test('the status of the service has the result of the newest canary', { tags: ['Canary-6'] }, async () => {
    const { canaries } = await rig.alpha.client.status();
    expect(canaries).toMatchObject([{ isolation_class, runtime_pack: 'system', problem: null }]);
  });

  test('an export from the data directory of the stopped service has the canary too', {
    tags: ['Canary-3'],
  }, async () => {
    const { bytes } = await rig.alpha.client.canary(job);
    await rig.service.stop();
    const [directory, canary] = [fresh(), fresh()];
    const data = ['--data-dir', join(scratch, provider), '--tenant', 'alpha'];
    expect(await vouchbox(['export', job, '--output', directory, '--canary', canary, ...data])).toMatchObject({
      code: 0,
    });
    expect(readFileSync(canary)).toEqual(Buffer.from(bytes));
  });
});

test('a canary and the job that refers to it name the same build, even if the service’s files are read slowly', {
  tags: ['Canary-3'],
}, async () => {
  const mayRead = Promise.withResolvers<void>();
  const { readFile } = promises;
  const slowly = async (...given: Parameters<typeof readFile>) => {
    if (typeof given[0] === 'string' && given[0].endsWith('/service.ts')) await mayRead.promise;
    return await readFile(...given);
  };
  onTestFinished(() => {
    mayRead.resolve();
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  vi.spyOn(promises, 'readFile').mockImplementation(slowly as typeof readFile);
  syncBuiltinESMExports();
  const rig = await Rig.start({ ...WITH_CANARIES, provider: 'namespace' }, join(scratch, 'slow'));
  try {
    for (let jobs = 0; jobs < 5; jobs++) await signed(rig, (await rig.alpha.client.run(python)).job_id);
    mayRead.resolve();
    const job = await jobWithCanary(rig);
    const { also } = predicateOf(await signed(rig, job));
    expect(also).toHaveProperty('build');
    expect(predicateOf((await rig.alpha.client.canary(job)).bytes).also?.['build']).toEqual(also?.['build']);
  } finally {
    expect(await rig.stop()).toEqual([]);
  }
});

test('a service whose operator turned canaries off runs none', { tags: ['Canary-7'] }, async () => {
  const rig = await Rig.start({ ...WITH_CANARIES, canaries: 'off' }, join(scratch, 'off'));
  const { job_id } = await rig.alpha.client.run(python);
  expect(predicateOf(await signed(rig, job_id)).also ?? {}).not.toHaveProperty('canary');
  expect((await rig.alpha.client.status()).canaries).toEqual([]);
  expect(await rig.stop()).toEqual([]);
});

test('a service with the provider subprocess runs no canary, because that provider isolates nothing', {
  tags: ['Canary-7'],
}, async () => {
  const rig = await Rig.start({ ...WITH_CANARIES, provider: 'subprocess' }, join(scratch, 'subprocess'));
  const { job_id } = await rig.alpha.client.run(python);
  expect(predicateOf(await signed(rig, job_id)).also ?? {}).not.toHaveProperty('canary');
  expect((await rig.alpha.client.status()).canaries).toEqual([]);
  expect(await rig.stop()).toEqual([]);
});

test('a service does not start with a key for the canaries’ tenant', { tags: ['Canary-5'] }, async () => {
  const start = Rig.start({ 'legacy-keys': `${CANARY_TENANT}=a-key-of-nobody` }, join(scratch, 'nobody'));
  await expect(start).rejects.toThrow('tenant that is not allowed');
});
