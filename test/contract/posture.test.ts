/**
 * The service claims only observed facts about a job. The job's program can check them. Spec § Job detail, § Receipt.
 */
import { createHash } from 'node:crypto';
import { verifyReceipt } from '@vouchbox/evidence';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Ran, useRig } from '../rig/rig.ts';

const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex');
const ALL_HELD = { wall_seconds: true, cpu_seconds: true, mem_mb: true, max_pids: true, max_file_mb: true };

describe('under the namespace class', () => {
  const rig = useRig();
  const limits = { wall_seconds: 7.5, cpu_seconds: 2.5, mem_mb: 128, max_pids: 24, max_file_mb: 3 };
  const code = `
status = dict(line.split(':', 1) for line in open('/proc/self/status').read().splitlines())
for name in ('NoNewPrivs', 'Seccomp', 'CapEff', 'CapBnd', 'Uid', 'Gid'): print(name, status[name].split()[0])
print(open('input/a').read())
open('output/b', 'w').write('b')`;
  let ran: Ran;

  beforeAll(async () => {
    ran = await rig().run({
      language: 'python',
      code,
      stdin: 'given',
      files: [{ path: 'input/a', content_base64: 'YQ==' }],
      outputs: ['output/b'],
      limits,
    });
  });

  test('the program ran to its end', () => {
    expect(ran.result).toMatchObject({ status: 'succeeded', violations: [] });
  });

  test('the detail has exactly the specified members', { tags: ['Detail-1', 'Detail-2', 'GetJob-1'] }, () => {
    expect(Object.keys(ran.detail).sort()).toEqual(
      [
        'attestation',
        'backend',
        'bootstrap_ready',
        'cancellation_requested',
        'created_at',
        'dedicated_bootstrap',
        'duration_ms',
        'effective_spec',
        'exit_code',
        'finished_at',
        'job_id',
        'language',
        'limit_enforcement',
        'network_allowed',
        'networking',
        'private_rootfs',
        'receipt',
        'receipt_sha256',
        'requested_spec',
        'runtime',
        'seccomp',
        'signal',
        'started_at',
        'status',
        'tenant',
        'terminal_reason',
      ].sort(),
    );
  });

  test("the detail states the job's posture", {
    tags: ['Detail-6', 'Detail-7', 'Detail-8', 'Detail-10', 'Detail-11', 'Detail-16'],
  }, () => {
    expect(ran.detail).toMatchObject({
      tenant: 'alpha',
      backend: 'namespace',
      bootstrap_ready: true,
      networking: 'disabled',
      network_allowed: false,
      private_rootfs: true,
      dedicated_bootstrap: true,
      seccomp: 'filter',
      effective_spec: { isolation_class: 'linux-shared-kernel', limits },
      limit_enforcement: ALL_HELD,
    });
  });

  test('inside its cell, the program sees the privileges that the receipt claims', { tags: ['Detail-6'] }, () => {
    expect(ran.result.stdout).toBe(
      'NoNewPrivs 1\nSeccomp 2\nCapEff 0000000000000000\nCapBnd 0000000000000000\nUid 1000\nGid 1000\na\n',
    );
    expect(ran.detail.receipt).toMatchObject({ no_new_privileges: true, seccomp: 'filter', capabilities: '0' });
  });

  test('the receipt agrees with the detail, and has the runtime’s own name and version', {
    tags: ['What-4', 'Receipt-2', 'Receipt-3', 'Receipt-4', 'Receipt-8', 'Receipt-9'],
  }, () => {
    expect(ran.detail.receipt).toMatchObject({
      schema_version: 4,
      job_id: ran.job_id,
      tenant: 'alpha',
      backend: 'namespace',
      isolation_class: 'linux-shared-kernel',
      networking: 'disabled',
      network_allowed: false,
      private_rootfs: true,
      dedicated_bootstrap: true,
      requested_limits: limits,
      effective_limits: limits,
      limit_enforcement: ALL_HELD,
      // Either of the two launchers that can start cells of this class on this host.
      runtime_identity: {
        name: expect.stringMatching(/^(crun|svc-launcher)$/) as unknown,
        version: expect.stringMatching(/^\d+(\.\d+)*/) as unknown,
      },
    });
  });

  test('the receipt has the digests of the code, the input and the returned output', {
    tags: ['Receipt-1', 'Receipt-7'],
  }, () => {
    expect(ran.detail.receipt).toMatchObject({
      code_sha256: sha256(code),
      stdin_sha256: sha256('given'),
      input_artifacts: [{ path: 'input/a', size_bytes: 1, sha256: sha256('a') }],
      output_artifacts: [{ path: 'output/b', size_bytes: 1, sha256: sha256('b') }],
    });
    expect(ran.detail.receipt?.policy_sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  test('the receipt states wall time, CPU time and peak memory, and no other usage', {
    tags: ['Receipt-6', 'Receipt-18'],
  }, () => {
    const usage = ran.detail.receipt?.resource_usage;
    expect(Object.keys(usage ?? {}).sort()).toEqual(['cpu_ms', 'memory_peak_bytes', 'wall_ms']);
    for (const value of Object.values(usage ?? {})) expect(value).toBeGreaterThan(0);
    expect(usage?.memory_peak_bytes).toBeLessThan(128 * 1024 * 1024);
  });

  test("the receipt's own digest is computed over its canonical form without that digest", {
    tags: ['Receipt-22'],
  }, () => {
    expect(ran.detail.receipt_sha256).toBe(ran.detail.receipt?.receipt_sha256);
    expect(verifyReceipt({ ...ran.detail.receipt })).toMatchObject({ kind: 'intact' });
  });

  test('the receipt of a job without stdin has null as the stdin digest', { tags: ['Receipt-1'] }, async () => {
    const { detail } = await rig().run({ language: 'bash', code: 'true' });
    expect(detail.receipt?.stdin_sha256).toBeNull();
  });

  test('a queued job’s detail has null for every member about isolation', {
    tags: ['Detail-3', 'Detail-4', 'Attestation-3'],
  }, async () => {
    const { client } = rig().alpha;
    const sleeper = { language: 'bash', code: 'sleep 300', limits: { wall_seconds: 300 } };
    const jobs = await Promise.all(Array.from({ length: 8 }, () => client.submit(sleeper)));
    const waiting = await client.detail(jobs.at(-1)?.job_id ?? '');
    expect(waiting).toMatchObject({
      status: 'queued',
      started_at: null,
      effective_spec: null,
      backend: null,
      bootstrap_ready: null,
      networking: null,
      network_allowed: null,
      private_rootfs: null,
      dedicated_bootstrap: null,
      seccomp: null,
      limit_enforcement: null,
      attestation: { available: false, tenant: null, envelope_url: null },
    });
    expect(waiting).not.toHaveProperty('receipt');
    await Promise.all(jobs.map(({ job_id }) => client.cancel(job_id)));
    await Promise.all(jobs.map(({ job_id }) => rig().ended(job_id)));
  });
});

describe('under the development subprocess', () => {
  const rig = useRig({ provider: 'subprocess' });

  test('the detail claims no limit except the wall limit, and states the host’s network', {
    tags: ['What-8b', 'Detail-9', 'Detail-10', 'Detail-11', 'Detail-16'],
  }, async () => {
    const { result, detail } = await rig().run({ language: 'python', code: 'print("hi")' });
    expect(result).toMatchObject({ status: 'succeeded', stdout: 'hi\n' });
    expect(detail).toMatchObject({
      backend: 'subprocess',
      bootstrap_ready: true,
      networking: 'host',
      network_allowed: true,
      private_rootfs: false,
      limit_enforcement: { ...ALL_HELD, cpu_seconds: false, mem_mb: false, max_pids: false, max_file_mb: false },
      effective_spec: {
        isolation_class: 'none',
        limits: { wall_seconds: 10, cpu_seconds: null, mem_mb: null, max_pids: null, max_file_mb: null },
      },
    });
  });

  test('a submission that requires any isolation is refused', async () => {
    const { status, json } = await rig().post({
      language: 'bash',
      code: 'true',
      requirements: { minimum_isolation: 'linux-shared-kernel' },
    });
    expect([status, json.error.code]).toEqual([422, 'minimum_isolation_unsatisfied']);
  });

  test('the wall limit is enforced', async () => {
    const { detail } = await rig().run({ language: 'bash', code: 'sleep 60', limits: { wall_seconds: 0.5 } });
    expect(detail).toMatchObject({ status: 'timed_out', terminal_reason: 'wall_limit' });
  });
});
