import type { FilledQueryOf, JobList } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { acme, callerOf, hello, JobRig } from '../../../test/job-rig.ts';
import { readyPosture, unready } from '../../../test/scripted-provider.ts';
import type { Caller } from '../../ground/caller.ts';
import { BootstrapError } from '../../sandbox/sandbox.ts';
import { createLog } from '../../telemetry/log/log.ts';
import { recover } from '../dispatch/recover.ts';

const never = new AbortController().signal;
const at = (waitSeconds: number, signal = never) => ({ waitSeconds, signal });
const noExecution = {
  effective_spec: null,
  backend: null,
  bootstrap_ready: null,
  networking: null,
  network_allowed: null,
  private_rootfs: null,
  dedicated_bootstrap: null,
  seccomp: null,
  limit_enforcement: null,
};

describe('job detail', () => {
  test('the detail of a queued job claims nothing about the job’s execution', async () => {
    await using rig = await JobRig.open({ concurrency: 1 });
    await rig.submit();
    await rig.provider.running(0);
    const key = await rig.submit();
    const detail = await rig.detail(key.job_id);
    expect(detail).toMatchObject({
      ...noExecution,
      job_id: key.job_id,
      tenant: 'acme',
      status: 'queued',
      started_at: null,
      cancellation_requested: false,
      requested_spec: { code: hello.code, stdin: null, runtime: null, requirements: { minimum_isolation: 'none' } },
    });
    expect(detail).not.toHaveProperty('receipt');
    expect(detail).not.toHaveProperty('receipt_sha256');
    expect(detail.attestation).toMatchObject({ available: false, tenant: null, key_id: null, envelope_url: null });
  });

  test('the detail of a running or ended job says what was observed about its cell', async () => {
    await using rig = await JobRig.open();
    rig.provider.script = () => ({ ...readyPosture, seccomp: null, isolation_class: 'gvisor-application-kernel' });
    const key = await rig.submit();
    const cell = await rig.provider.running(0);
    const observed = {
      effective_spec: { isolation_class: 'gvisor-application-kernel', limits: { mem_mb: 256, wall_seconds: 10 } },
      backend: 'namespace',
      bootstrap_ready: true,
      networking: 'disabled',
      network_allowed: false,
      seccomp: null,
      limit_enforcement: { cpu_seconds: true },
    };
    expect(await rig.detail(key.job_id)).toMatchObject({ status: 'running', ...observed });
    cell.end({ kind: 'exited', exit_code: 0 });
    const row = await rig.ended(key);
    const detail = await rig.detail(key.job_id);
    expect(detail).toMatchObject({ status: 'succeeded', ...observed, receipt_sha256: row.receipt_sha256 });
    expect(JSON.stringify(detail.receipt)).toBe(row.receipt_json);
  });

  test('the detail of a job claims no protection and no limit if its cell never became ready', {
    tags: ['Detail-13'],
  }, async () => {
    await using rig = await JobRig.open();
    rig.provider.failOnce(new BootstrapError('seccomp', 'refused', unready));
    const key = await rig.submit();
    await rig.ended(key);
    const detail = await rig.detail(key.job_id);
    expect(detail).toMatchObject({
      bootstrap_ready: false,
      effective_spec: { isolation_class: null, limits: { wall_seconds: null, max_pids: null } },
      networking: null,
      network_allowed: null,
      private_rootfs: false,
      dedicated_bootstrap: false,
      seccomp: null,
      limit_enforcement: { wall_seconds: false, max_pids: false },
    });
  });

  test('an unknown job and a job of another tenant are refused with the same error', async () => {
    await using rig = await JobRig.open();
    const { job_id } = await rig.submit();
    const refusals = await Promise.all(
      [rig.jobs.detail(callerOf('umbrella'), job_id), rig.jobs.detail(acme, 'job_none')].map((answer) =>
        Promise.resolve(answer).catch((error: unknown) => error),
      ),
    );
    expect(refusals[0]).toMatchObject({ code: 'job_not_found' });
    expect(String(refusals[0])).toBe(String(refusals[1]));
  });
});

describe('the result of a job', () => {
  test('has the exact output, the violations and the artifacts of an ended job', async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit({ ...hello, outputs: ['output/b'] });
    const cell = await rig.provider.running(0);
    cell.write('stdout', { text: 'é' }, { text: '' }, { text: 'no newline', partial: true });
    cell.write('stderr', { text: 'oops' });
    const content = new Uint8Array([0, 255, 10]);
    const violation = { type: 'output_missing' as const, message: 'it did not come', path: 'output/c' };
    const artifact = { path: 'output/b', size_bytes: 3, sha256: 'a'.repeat(64) };
    cell.end({ kind: 'exited', exit_code: 0 }, { artifacts: [{ ...artifact, content }], violations: [violation] });
    const result = await rig.result(key.job_id, at(30));
    expect(result).toEqual({
      job_id: key.job_id,
      status: 'succeeded',
      exit_code: 0,
      duration_ms: result.duration_ms,
      stdout: 'é\n\nno newline',
      stderr: 'oops\n',
      truncated: false,
      violations: [violation],
      artifacts: [{ ...artifact, content_base64: 'AP8K' }],
    });
    expect(Number.isInteger(result.duration_ms)).toBe(true);
  });

  test('waiting for a job that this process runs does not read the store', async () => {
    const reads: string[] = [];
    await using rig = await JobRig.open({
      faults: (real) => ({
        jobSummary(key) {
          reads.push(key.job_id);
          return real.jobSummary(key);
        },
      }),
    });
    const key = await rig.submit();
    const cell = await rig.provider.running(0);
    const waiting = rig.result(key.job_id, at(30));
    expect(rig.store.isUnderWay(key)).toBe(true);
    expect(rig.store.isUnderWay({ tenant: 'umbrella', job_id: key.job_id })).toBe(false);
    cell.end({ kind: 'exited', exit_code: 0 });
    expect(await waiting).toMatchObject({ status: 'succeeded' });
    expect(rig.store.isUnderWay(key)).toBe(false);
    expect(reads).toEqual([]);
  });

  test.each([
    ['a short program', {}],
    ['a program that was to leave large outputs', { large_outputs: { paths: ['output/large'], max_bytes: 1 } }],
  ])('the result of %s is the same whether it comes from memory or from the store', async (_what, asked) => {
    let isKept = true;
    await using rig = await JobRig.open({
      faults: (real) => ({ shortResult: (key) => (isKept ? real.shortResult(key) : null) }),
    });
    const key = await rig.submit({ ...hello, ...asked });
    const cell = await rig.provider.running(0);
    cell.write('stdout', { text: 'é"\n\u2028' }, { text: '' }, { text: 'no newline', partial: true });
    cell.writeOver('stderr', 99, { text: 'oops' });
    cell.end({ kind: 'exited', exit_code: 3 }, { violations: [{ type: 'pids', message: 'too many' }] });
    const textOf = async () => (await rig.jobs.result(acme, key.job_id, at(30))).body.text;
    const kept = await textOf();
    expect(rig.store.shortResult(key)).toBe(kept);
    expect(rig.store.shortResult({ tenant: 'umbrella', job_id: key.job_id })).toBeNull();
    isKept = false;
    expect(await textOf()).toBe(kept);
  });

  test('the result of a running job has its status and the output so far, at once or after an expired wait', async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit();
    const cell = await rig.provider.running(0);
    cell.write('stdout', { text: 'so far' });
    const following = rig.jobs.tail(acme, key.job_id, { after: 2, signal: never })[Symbol.asyncIterator]();
    await following.next();
    await following.return?.();
    for (const wait of [0, 0.01]) {
      expect(await rig.result(key.job_id, at(wait))).toEqual({
        job_id: key.job_id,
        status: 'running',
        exit_code: null,
        duration_ms: null,
        stdout: 'so far\n',
        stderr: '',
        truncated: false,
        violations: [],
        artifacts: [],
      });
    }
  });

  test('is sent in answer to every waiting request when the job ends', async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit();
    const cell = await rig.provider.running(0);
    const waits = Array.from({ length: 24 }, () => rig.result(key.job_id, at(300)));
    cell.end({ kind: 'signaled', signal: 'SIGSEGV' });
    for (const result of await Promise.all(waits)) expect(result).toMatchObject({ status: 'failed', exit_code: null });
  });

  test('is refused if the service stops during the wait', async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit();
    await rig.provider.running(0);
    const waiting = rig.result(key.job_id, at(300));
    rig.shutdown.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'shutting_down', retryable: true });
  });

  test('is not computed for a client that has left', async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit();
    await rig.provider.running(0);
    const gone = new AbortController();
    const waiting = rig.result(key.job_id, at(300, gone.signal));
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
  });

  test('the result of another tenant’s job is not found, whether or not the caller waits', async () => {
    await using rig = await JobRig.open();
    const { job_id } = await rig.submit();
    for (const wait of [0, 300]) {
      await expect(rig.jobs.result(callerOf('umbrella'), job_id, at(wait))).rejects.toMatchObject({
        code: 'job_not_found',
      });
    }
  });
});

async function list(rig: JobRig, caller: Caller, query: FilledQueryOf<'listJobs'>): Promise<JobList> {
  return JSON.parse(await rig.jobs.list(caller, query)) as JobList;
}

describe('the job list', () => {
  const query = { limit: 50 };

  test('shows the newest jobs first, in pages that do not shift when new jobs arrive', async () => {
    await using rig = await JobRig.open({ concurrency: 1 });
    const keys = [];
    for (let index = 0; index < 5; index++) keys.push((await rig.submit()).job_id);
    const first = await list(rig, acme, { ...query, limit: 2 });
    await rig.submit();
    const second = await list(rig, acme, { ...query, limit: 2, cursor: String(first.next_cursor) });
    const third = await list(rig, acme, { ...query, limit: 2, cursor: String(second.next_cursor) });
    expect([...first.items, ...second.items, ...third.items].map(({ job_id }) => job_id)).toEqual(keys.toReversed());
    expect(third.next_cursor).toBeNull();
    expect(Object.keys(first.items[0] ?? {}).toSorted()).toEqual(
      [
        'job_id',
        'status',
        'language',
        'first_line',
        'runtime',
        'created_at',
        'started_at',
        'finished_at',
        'duration_ms',
        'exit_code',
        'terminal_reason',
        'truncated',
        'attestation_available',
      ].toSorted(),
    );
  });

  test('has no next page if the last page is exactly full', async () => {
    await using rig = await JobRig.open();
    await rig.submit();
    await rig.submit();
    expect((await list(rig, acme, { ...query, limit: 2 })).next_cursor).toBeNull();
  });

  test("filters by status and language, and shows no other tenant's jobs", async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit();
    (await rig.provider.running(0)).end({ kind: 'exited', exit_code: 0 });
    await rig.ended(key);
    await rig.submit({ ...hello, language: 'bash' });
    await rig.provider.running(1);
    const ids = async (filter: Partial<FilledQueryOf<'listJobs'>>, caller = acme) =>
      (await list(rig, caller, { ...query, ...filter })).items.map(({ language }) => language);
    expect(await ids({ status: ['succeeded', 'failed'] })).toEqual(['python']);
    expect(await ids({ language: 'bash' })).toEqual(['bash']);
    expect(await ids({ status: ['cancelled'] })).toEqual([]);
    expect(await ids({}, callerOf('umbrella'))).toEqual([]);
  });

  test('refuses another tenant’s cursor', async () => {
    await using rig = await JobRig.open({ concurrency: 1 });
    await rig.submit();
    await rig.submit();
    const { next_cursor } = await list(rig, acme, { ...query, limit: 1 });
    await expect(list(rig, callerOf('umbrella'), { ...query, cursor: String(next_cursor) })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});

test('output that was truncated before the process died is still reported as truncated', {
  tags: ['Result-6'],
}, async () => {
  await using rig = await JobRig.open();
  const key = await rig.submit();
  const cell = await rig.provider.running(0);
  cell.writeOver('stdout', 100, { text: 'one' });
  await expect.poll(async () => (await rig.past(key)).length).toBe(4);
  const { store, history } = rig;
  await recover({ store, history, log: createLog('silent') });
  expect(await rig.row(key)).toMatchObject({ terminal_reason: 'server_restarted', truncated: true });
  expect((await list(rig, acme, { limit: 1 })).items[0]?.truncated).toBe(true);
  expect((await rig.detail(key.job_id)).receipt).not.toHaveProperty('truncated');
});

test('a job that was running when the service died ends as server_restarted, and its receipt states nothing about the run', {
  tags: ['Detail-4', 'Receipt-19'],
}, async () => {
  await using rig = await JobRig.open();
  const key = await rig.submit();
  await rig.provider.running(0);
  const { store, history } = rig;
  await recover({ store, history, log: createLog('silent') });
  const detail = await rig.detail(key.job_id);
  expect(detail).toMatchObject({
    status: 'error',
    terminal_reason: 'server_restarted',
    duration_ms: null,
    exit_code: null,
  });
  for (const absent of ['effective_limits', 'output', 'resource_usage', 'backend', 'isolation_class', 'networking']) {
    expect(detail.receipt).not.toHaveProperty(absent);
  }
  const before = await rig.past(key);
  await recover({ store, history, log: createLog('silent') });
  expect(await rig.past(key)).toEqual(before);
  expect(before.map(([kind]) => kind)).toEqual(['queued', 'started', 'finished']);
});
