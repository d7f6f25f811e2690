import { sha256Hex } from '@vouchbox/evidence';
import { type JobList, LIMIT_CEILINGS } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { acme, callerOf, hello, JobRig } from '../../../test/job-rig.ts';
import { ServiceError } from '../../ground/service-error.ts';
import { copyNameOf } from '../../store/blobs/blobs-named.ts';
import { finishOf, runJob } from '../../store/store.fixture.ts';
import type { Store } from '../../store/store.ts';
import { StoreError } from '../../store/store-error.ts';

const umbrella = callerOf('umbrella');

/** How many jobs a tenant has. */
async function count(rig: JobRig, caller = acme): Promise<number> {
  const list = await rig.jobs.list(caller, { limit: 200 });
  return (JSON.parse(list) as JobList).items.length;
}

describe('a submitted job', () => {
  test('gets a new id, is stored as queued with limits cut to the ceilings, and is answered with relative URLs', async () => {
    await using rig = await JobRig.open();
    const body = { ...hello, limits: { wall_seconds: 1e308, mem_mb: 64 } };
    const { answer, replayed } = await rig.jobs.submit(acme, { body, idempotencyKey: null });
    expect(replayed).toBe(false);
    expect(answer.job_id).toMatch(/^job_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const url = `/v1/jobs/${answer.job_id}`;
    expect(answer).toEqual({
      job_id: answer.job_id,
      status: 'queued',
      created_at: answer.created_at,
      stream_url: `${url}/stream`,
      history_url: `${url}/replay`,
      result_url: `${url}/result`,
    });
    const { requested_spec } = await rig.row({ tenant: 'acme', job_id: answer.job_id });
    expect(requested_spec.limits).toEqual({
      wall_seconds: 300,
      cpu_seconds: 5,
      mem_mb: 64,
      max_pids: 64,
      max_file_mb: 16,
    });
  });

  test.each([
    [{ ...hello, code: '' }, 'invalid_request'],
    [{ ...hello, language: 'cobol' }, 'unsupported_language'],
    [{ ...hello, limits: { allow_network: true } }, 'network_not_allowed'],
    [{ ...hello, runtime: 'none-such' }, 'runtime_unavailable'],
    [{ ...hello, requirements: { minimum_isolation: 'hardware-vm' } }, 'minimum_isolation_unsatisfied'],
  ])('is not created if the submission is refused, and the idempotency key stays unused: %j', async (body, code) => {
    await using rig = await JobRig.open();
    await expect(rig.jobs.submit(acme, { body, idempotencyKey: 'key' })).rejects.toMatchObject({ code });
    expect(await count(rig)).toBe(0);
    expect((await rig.jobs.submit(acme, { body: hello, idempotencyKey: 'key' })).replayed).toBe(false);
  });

  test('is not created while the free space is below the reserve', async () => {
    const checkFreeSpace = () => {
      throw new ServiceError('insufficient_storage', 'full', { retryAfterSeconds: 9 });
    };
    await using rig = await JobRig.open({ checkFreeSpace });
    await expect(rig.submit()).rejects.toMatchObject({ code: 'insufficient_storage', retryAfterSeconds: 9 });
    expect(await count(rig)).toBe(0);
  });

  test('is no longer created once the service is stopping', async () => {
    await using rig = await JobRig.open();
    rig.shutdown.abort();
    await expect(rig.submit()).rejects.toMatchObject({ code: 'shutting_down', retryable: true, retryAfterSeconds: 5 });
  });

  test.each([
    ['full', 'insufficient_storage'],
    ['busy', 'capacity_exhausted'],
    ['unavailable', 'store_unavailable'],
    ['unreachable', 'store_unavailable'],
    ['io', 'store_unavailable'],
    ['read_only', 'store_unavailable'],
    ['corrupt', 'internal'],
  ] as const)('is not made if the store is %s, and the answer is %s', async (storeCode, code) => {
    const admit = () => Promise.reject(new StoreError(storeCode, 'the store at /secret/path failed'));
    await using rig = await JobRig.open({ faults: () => ({ admit }) });
    await expect(rig.submit()).rejects.toMatchObject({
      code,
      message: expect.not.stringContaining('/secret') as string,
    });
  });
});

describe('the queue of jobs', () => {
  test('accepts jobs up to its bound, and then refuses with queue_full and Retry-After', async () => {
    await using rig = await JobRig.open({ concurrency: 1, queue: { total: 2, perTenant: 2 } });
    await rig.submit();
    await rig.provider.running(0);
    await rig.submit();
    await rig.submit(hello, umbrella);
    await expect(rig.submit(hello, callerOf('third'))).rejects.toMatchObject({
      code: 'queue_full',
      retryAfterSeconds: 1,
    });
  });

  test('accepts one tenant’s jobs up to the tenant’s bound, and still accepts other tenants’ jobs', async () => {
    await using rig = await JobRig.open({ concurrency: 1, queue: { total: 9, perTenant: 1 } });
    await rig.submit();
    await rig.provider.running(0);
    await rig.submit();
    await expect(rig.submit()).rejects.toMatchObject({ code: 'tenant_capacity_exhausted', retryAfterSeconds: 1 });
    await rig.submit(hello, umbrella);
    expect(await count(rig)).toBe(2);
    expect(await count(rig, umbrella)).toBe(1);
  });
});

describe('an idempotency key', () => {
  const full = {
    language: 'node',
    code: 'é',
    stdin: 'in',
    files: [
      { path: 'input/a', content_base64: 'eA==' },
      { path: 'input/b', content_base64: 'eA==' },
    ],
    outputs: ['output/a', 'output/b'],
    requirements: { minimum_isolation: 'linux-shared-kernel' },
    limits: { wall_seconds: 2 },
  };

  test('with the same specification returns the first job with the status of the first answer', {
    tags: ['Submit-8'],
  }, async () => {
    await using rig = await JobRig.open();
    const submission = { body: full, idempotencyKey: 'key' };
    const { answer } = await rig.jobs.submit(acme, submission);
    (await rig.provider.running(0)).end({ kind: 'exited', exit_code: 0 });
    await rig.ended({ tenant: 'acme', job_id: answer.job_id });
    expect(await rig.jobs.submit(acme, submission)).toEqual({ answer, replayed: true });
    expect(await count(rig)).toBe(1);
  });

  test('returns the first job if only the order of members, the spelling of numbers or explicit defaults differ', async () => {
    await using rig = await JobRig.open();
    const { answer } = await rig.jobs.submit(acme, { body: hello, idempotencyKey: 'key' });
    const spelled: unknown = JSON.parse(
      `{"outputs":[],"files":[],"requirements":{"minimum_isolation":"none"},"code":"\\u0070rint(\\"hello\\")",
        "limits":{"max_file_mb":16.0,"max_pids":6.4e1,"mem_mb":256,"cpu_seconds":5.000,"wall_seconds":1e1,"allow_network":false},
        "language":"python"}`,
    );
    const again = await rig.jobs.submit(acme, { body: spelled, idempotencyKey: 'key' });
    expect(again).toMatchObject({ replayed: true, answer: { job_id: answer.job_id } });
  });

  test.each([
    ['language', { ...full, language: 'python' }],
    ['code', { ...full, code: 'è' }],
    ['stdin', { ...full, stdin: '' }],
    ['a file', { ...full, files: full.files.slice(1) }],
    ['the order of files', { ...full, files: full.files.toReversed() }],
    ['the order of outputs', { ...full, outputs: full.outputs.toReversed() }],
    ['requirements', { ...full, requirements: {} }],
    ['a limit', { ...full, limits: { wall_seconds: 2.5 } }],
    ['a limit over its ceiling', { ...full, limits: { wall_seconds: 301 } }],
    ['runtime', { ...full, runtime: 'system' }],
  ])('is refused and creates no job if it was used for another specification: %s', async (_member, body) => {
    await using rig = await JobRig.open();
    await rig.jobs.submit(acme, { body: full, idempotencyKey: 'key' });
    await expect(rig.jobs.submit(acme, { body, idempotencyKey: 'key' })).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
    expect(await count(rig)).toBe(1);
  });

  test('belongs to one tenant, so another tenant may use the same key', async () => {
    await using rig = await JobRig.open();
    const mine = await rig.jobs.submit(acme, { body: hello, idempotencyKey: 'key' });
    const theirs = await rig.jobs.submit(umbrella, { body: full, idempotencyKey: 'key' });
    expect(theirs.replayed).toBe(false);
    expect(theirs.answer.job_id).not.toBe(mine.answer.job_id);
  });

  test('still returns the first job after ceilings, runtimes and the queue have changed', async () => {
    const ceilings = { ...LIMIT_CEILINGS };
    await using rig = await JobRig.open({ ceilings, concurrency: 1, queue: { total: 1, perTenant: 1 } });
    await rig.submit();
    await rig.provider.running(0);
    const submission = { body: { ...hello, limits: { wall_seconds: 300 } }, idempotencyKey: 'key' };
    const { answer } = await rig.jobs.submit(acme, submission);
    ceilings.wall_seconds = 1;
    Object.assign(rig.provider, { languages: [] });
    expect(await rig.jobs.submit(acme, submission)).toMatchObject({
      replayed: true,
      answer: { job_id: answer.job_id },
    });
  });

  test('creates one job even if many submissions use it at once', async () => {
    await using rig = await JobRig.open();
    const submissions = Array.from({ length: 20 }, () => rig.jobs.submit(acme, { body: hello, idempotencyKey: 'key' }));
    const answers = await Promise.all(submissions);
    expect(new Set(answers.map(({ answer }) => answer.job_id)).size).toBe(1);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await count(rig)).toBe(1);
  });

  test.each(["'; DROP TABLE jobs; --", '../../etc/passwd', '%00', '{"$gt":""}'])(
    'may be any text, because keys are only compared: %s',
    async (idempotencyKey) => {
      await using rig = await JobRig.open();
      const { answer } = await rig.jobs.submit(acme, { body: hello, idempotencyKey });
      const again = await rig.jobs.submit(acme, { body: hello, idempotencyKey });
      expect(again).toMatchObject({ replayed: true, answer: { job_id: answer.job_id } });
    },
  );
});

describe('a submission that uses another job’s output as input', { tags: ['Inputs-2', 'Inputs-5'] }, () => {
  const content = new TextEncoder().encode('made');
  const artifacts = [{ path: 'output/a', size_bytes: 4, sha256: sha256Hex(content), content }];

  async function naming(rig: JobRig) {
    const { job_id } = await runJob(rig.store);
    await rig.store.finish(finishOf({ tenant: 'acme', job_id }, { artifacts }));
    return { ...hello, files: [{ path: 'input/a', from: { job_id, path: 'output/a' } }] };
  }

  test('is refused and leaves no copy if that output is removed during the copying', async () => {
    await using rig = await JobRig.open({ faults: () => ({ artifactPiece: async () => null }) });
    const body = await naming(rig);
    const before = await count(rig);
    await expect(rig.submit(body)).rejects.toMatchObject({ code: 'input_unavailable' });
    expect(await count(rig)).toBe(before);
    expect(await rig.store.blob({ tenant: 'acme', sha256: copyNameOf(sha256Hex(content)) })).toBeNull();
  });

  test('is refused if the stored bytes of the output differ from the receipt', async () => {
    const other = new TextEncoder().encode('fake');
    await using rig = await JobRig.open({ faults: () => ({ artifactPiece: async () => other }) });
    await expect(rig.submit(await naming(rig))).rejects.toThrow('is damaged in the store');
  });

  test('an output that many submissions use at once is copied once', async () => {
    let begun = 0;
    const faults = (real: Store) => ({
      beginUpload: (input: Parameters<Store['beginUpload']>[0]) => {
        begun++;
        return real.beginUpload(input);
      },
    });
    await using rig = await JobRig.open({ faults, queue: { total: 100, perTenant: 100 } });
    const body = await naming(rig);
    await Promise.all(Array.from({ length: 20 }, () => rig.submit(body)));
    expect(begun).toBe(1);
  });
});
