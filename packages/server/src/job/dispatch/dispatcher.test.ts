import type { JobEvent } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { acme, callerOf, hello, JobRig } from '../../../test/job-rig.ts';
import { readyPosture, unready } from '../../../test/scripted-provider.ts';
import { BootstrapError } from '../../sandbox/sandbox.ts';
import type { JobKey } from '../../store/records/rows.ts';
import { StoreError } from '../../store/store-error.ts';

const never = new AbortController().signal;

describe('a job that runs', () => {
  test('goes from queued to running to its end, and its history has this order', {
    tags: ['States-1b'],
  }, async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit({
      ...hello,
      stdin: 'in',
      files: [{ path: 'input/a', content_base64: 'eA==' }],
      outputs: ['output/b'],
    });
    const cell = await rig.provider.running(0);
    expect((await rig.row(key)).status).toBe('running');
    expect(cell.program).toMatchObject({ language: 'python', code: hello.code, stdin: 'in', outputs: ['output/b'] });
    expect(cell.program?.files).toEqual([{ path: 'input/a', content: Buffer.from('x') }]);
    cell.writeOver('stdout', 2 ** 21, { text: 'one' }, { text: 'two', partial: true });
    cell.write('stderr', { text: 'oops' });
    const content = Buffer.from('data');
    cell.end(
      { kind: 'exited', exit_code: 3 },
      {
        artifacts: [{ path: 'output/b', size_bytes: 4, sha256: 'f'.repeat(64), content }],
        violations: [{ type: 'pids', message: 'too many' }],
      },
    );
    const row = await rig.ended(key);
    expect(row).toMatchObject({
      status: 'failed',
      terminal_reason: 'exited',
      exit_code: 3,
      signal: null,
      truncated: true,
    });
    expect(row.duration_ms).toBeGreaterThanOrEqual(0);
    expect(
      row.started_at && row.finished_at && row.created_at <= row.started_at && row.started_at <= row.finished_at,
    ).toBe(true);
    const past = await rig.past(key);
    expect(past.map(([kind]) => kind)).toEqual([
      'queued',
      'started',
      'stdout',
      'stdout',
      'truncated',
      'stderr',
      'violation',
      'artifact',
      'finished',
    ]);
    expect(past[4]?.[1]).toEqual({
      stream: 'stdout',
      bytes_seen: 2 ** 21,
      bytes_stored: 7,
      records_stored: 2,
      limit_bytes: 1_048_576,
      limit_records: 10_000,
    });
    expect(past[1]?.[1]).toMatchObject({
      backend: 'namespace',
      isolation_class: 'linux-shared-kernel',
      bootstrap_ready: true,
    });
  });

  test('reports truncated output while it still runs', async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit();
    const cell = await rig.provider.running(0);
    expect((await rig.result(key.job_id, { waitSeconds: 0, signal: never })).truncated).toBe(false);
    cell.writeOver('stdout', 100, { text: 'one' });
    await expect.poll(async () => (await rig.past(key)).length).toBe(4);
    expect(await rig.result(key.job_id, { waitSeconds: 0, signal: never })).toMatchObject({
      status: 'running',
      stdout: 'one\n',
      truncated: true,
    });
  });

  test('frees its slot only after its cell was removed', async () => {
    await using rig = await JobRig.open({ concurrency: 1 });
    const keys = [await rig.submit(), await rig.submit()];
    const first = await rig.provider.running(0);
    expect(rig.provider.cells).toHaveLength(1);
    first.end({ kind: 'exited', exit_code: 0 });
    const second = await rig.provider.running(1);
    expect(first.disposed).toBe(true);
    second.end({ kind: 'exited', exit_code: 0 });
    for (const key of keys) expect((await rig.ended(key)).status).toBe('succeeded');
  });

  test('ends as runtime_failed if the service cannot learn how its program ended', {
    tags: ['States-1f'],
  }, async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit();
    const cell = await rig.provider.running(0);
    cell.fail(new Error('the runtime vanished'));
    expect(await rig.ended(key)).toMatchObject({ status: 'error', terminal_reason: 'runtime_failed', exit_code: null });
  });
});

describe('a job that cannot run', () => {
  test('ends as bootstrap_failed and states no protection if its cell alone cannot be built', {
    tags: ['Detail-12'],
  }, async () => {
    await using rig = await JobRig.open();
    rig.provider.failOnce(new BootstrapError('pivot', 'pivot_root failed', unready));
    const key = await rig.submit();
    const row = await rig.ended(key);
    expect(row).toMatchObject({
      status: 'error',
      terminal_reason: 'bootstrap_failed',
      started_at: null,
      duration_ms: null,
    });
    expect(row.execution).toMatchObject({
      bootstrap_ready: false,
      isolation_class: null,
      networking: null,
      effective_limits: { wall_seconds: null, mem_mb: null },
      limit_enforcement: { wall_seconds: false, mem_mb: false },
    });
    expect((await rig.past(key)).map(([kind]) => kind)).toEqual(['queued', 'finished']);
  });

  test('ends as isolation_unsatisfied without running if its cell has less isolation than the job demands', {
    tags: ['Submit-3a'],
  }, async () => {
    await using rig = await JobRig.open();
    rig.provider.script = () => ({ ...readyPosture, isolation_class: 'none' });
    const key = await rig.submit({ ...hello, requirements: { minimum_isolation: 'linux-shared-kernel' } });
    expect(await rig.ended(key)).toMatchObject({
      status: 'error',
      terminal_reason: 'isolation_unsatisfied',
      started_at: null,
    });
    expect(rig.provider.cells[0]?.program).toBeNull();
    const { execution } = await rig.row(key);
    expect(execution).toMatchObject({ bootstrap_ready: false, isolation_class: null, private_rootfs: false });
  });

  test('ends as internal_error after an error in the service, and is not retried forever', {
    tags: ['RST-09'],
  }, async () => {
    await using rig = await JobRig.open();
    rig.provider.script = () => {
      throw new TypeError('a bug');
    };
    const row = await rig.ended(await rig.submit());
    expect(row).toMatchObject({ status: 'error', terminal_reason: 'internal_error', execution: null });
  });
});

test('a queued job that exceeds a lowered memory bound ends as an error without running (RES-21)', {
  tags: ['RES-21'],
}, async () => {
  await using rig = await JobRig.open({ concurrentMemMbMax: 255 });
  const running = await rig.submit({ ...hello, limits: { mem_mb: 200 } });
  await rig.provider.running(0);
  const key = await rig.submit({ ...hello, limits: { mem_mb: 256 } });
  expect(await rig.ended(key)).toMatchObject({
    status: 'error',
    terminal_reason: 'bootstrap_failed',
    started_at: null,
    execution: { bootstrap_ready: false, isolation_class: null, effective_limits: { mem_mb: null } },
  });
  const past = await rig.past(key);
  expect(past.map(([kind]) => kind)).toEqual(['queued', 'violation', 'finished']);
  expect(past[1]?.[1]).toEqual({
    type: 'memory',
    message: 'mem_mb 256 is more than all jobs of this service may have together (255)',
    limit: 255,
    observed: 256,
  });
  // The cell got no program, and the job neither waited for other jobs nor held them up.
  expect(rig.provider.cells[1]).toMatchObject({ program: null, disposed: true });
  const fits = await rig.submit({ ...hello, limits: { mem_mb: 55 } });
  const cells = [await rig.provider.running(0), await rig.provider.running(2)];
  for (const cell of cells) cell.end({ kind: 'exited', exit_code: 0 });
  for (const each of [running, fits]) expect((await rig.ended(each)).status).toBe('succeeded');
});

describe('while no cell can be made', () => {
  const broken = () => {
    throw new BootstrapError('start', 'the runtime is gone', unready);
  };

  test('queued jobs wait, new jobs are refused, and the queued jobs run once cells can be made again', async () => {
    await using rig = await JobRig.open({ concurrency: 2 });
    rig.provider.script = broken;
    const keys = await Promise.all([rig.submit(), rig.submit(), rig.submit()]);
    await expect.poll(() => rig.health.isReady()).toBe(false);
    await expect(rig.submit()).rejects.toMatchObject({ code: 'worker_unavailable', retryAfterSeconds: 5 });
    await expect.poll(() => rig.dispatcher.inFlight).toBe(0);
    for (const key of keys) expect((await rig.row(key)).status).toBe('queued');
    rig.provider.script = () => readyPosture;
    expect(await rig.health.proven()).toBe(true);
    // The first cell was the trial.
    for (const ordinal of [1, 2, 3]) (await rig.provider.running(ordinal)).end({ kind: 'exited', exit_code: 0 });
    for (const key of keys) expect((await rig.ended(key)).status).toBe('succeeded');
  });

  test('a repeated submission with the same idempotency key still gets its answer', async () => {
    await using rig = await JobRig.open();
    rig.provider.script = broken;
    const { answer } = await rig.jobs.submit(acme, { body: hello, idempotencyKey: 'once' });
    await expect.poll(() => rig.health.isReady()).toBe(false);
    const again = await rig.jobs.submit(acme, { body: hello, idempotencyKey: 'once' });
    expect(again).toMatchObject({ answer: { job_id: answer.job_id }, replayed: true });
  });

  test('a job that is cancelled while it waits never runs', async () => {
    await using rig = await JobRig.open();
    rig.provider.script = broken;
    const key = await rig.submit();
    await expect.poll(() => rig.health.isReady()).toBe(false);
    await rig.cancel(key.job_id);
    expect(await rig.row(key)).toMatchObject({ status: 'cancelled', terminal_reason: 'cancelled' });
  });
});

describe('while the disk has no room', () => {
  test('no queued job starts until there is room', async () => {
    let room = 0;
    await using rig = await JobRig.open({ roomForJobs: () => room });
    const keys = [await rig.submit(), await rig.submit()];
    expect(rig.dispatcher.inFlight).toBe(0);
    room = 1;
    rig.nudges.send('queue');
    const first = await rig.provider.running(0);
    expect(rig.dispatcher.inFlight).toBe(1);
    first.end({ kind: 'exited', exit_code: 0 });
    (await rig.provider.running(1)).end({ kind: 'exited', exit_code: 0 });
    for (const key of keys) expect((await rig.ended(key)).status).toBe('succeeded');
  });

  test('the outcome of a running job is kept until there is room to store it', async () => {
    let isFull = false;
    let refused = 0;
    const refuse = () => Promise.reject(new StoreError('full', `no space is left ${++refused}`));
    await using rig = await JobRig.open({
      faults: (real) => ({
        append: (key, events) => (isFull ? refuse() : real.append(key, events)),
        finish: (input) => (isFull ? refuse() : real.finish(input)),
      }),
    });
    const key = await rig.submit();
    const cell = await rig.provider.running(0);
    isFull = true;
    cell.write('stdout', { text: 'kept' });
    cell.end({ kind: 'exited', exit_code: 0 });
    await expect.poll(() => refused).toBe(2);
    expect(cell.stopped).toBeNull();
    isFull = false;
    expect(await rig.ended(key)).toMatchObject({ status: 'succeeded', exit_code: 0 });
    expect((await rig.past(key)).map(([kind]) => kind)).toEqual(['queued', 'started', 'stdout', 'finished']);
  });
});

describe('the slots of a node', () => {
  test('are never more numerous than the concurrency allows', async () => {
    await using rig = await JobRig.open({ concurrency: 2 });
    const keys = await Promise.all([rig.submit(), rig.submit(), rig.submit()]);
    await Promise.all([rig.provider.running(0), rig.provider.running(1)]);
    expect(rig.dispatcher.inFlight).toBe(2);
    (await rig.provider.running(0)).end({ kind: 'exited', exit_code: 0 });
    (await rig.provider.running(2)).end({ kind: 'exited', exit_code: 0 });
    (await rig.provider.running(1)).end({ kind: 'exited', exit_code: 0 });
    for (const key of keys) await rig.ended(key);
  });

  test('stay empty while one more job would exceed the memory bound for all jobs', async () => {
    await using rig = await JobRig.open({ concurrentMemMbMax: 512 });
    const large = { ...hello, limits: { mem_mb: 384 } };
    const keys = [await rig.submit(large), await rig.submit(large)];
    const first = await rig.provider.running(0);
    expect(rig.dispatcher.inFlight).toBe(1);
    first.end({ kind: 'exited', exit_code: 0 });
    (await rig.provider.running(1)).end({ kind: 'exited', exit_code: 0 });
    for (const key of keys) expect((await rig.ended(key)).status).toBe('succeeded');
  });

  test('stay empty if the cells’ own memory would exceed the bound, but a single job may use the whole bound', async () => {
    await using rig = await JobRig.open({ concurrentMemMbMax: 512, cellMemMb: 36 });
    const half = { ...hello, limits: { mem_mb: 256 } };
    const keys = [
      await rig.submit(half),
      await rig.submit(half),
      await rig.submit({ ...hello, limits: { mem_mb: 512 } }),
    ];
    for (const at of [0, 1, 2]) {
      const running = await rig.provider.running(at);
      expect(rig.dispatcher.inFlight).toBe(1);
      running.end({ kind: 'exited', exit_code: 0 });
    }
    for (const key of keys) expect((await rig.ended(key)).status).toBe('succeeded');
  });

  test('are not all given to one tenant while another tenant has a job', { tags: ['RES-32'] }, async () => {
    await using rig = await JobRig.open({ concurrency: 2 });
    const alone = [await rig.submit(), await rig.submit()];
    const cells = [await rig.provider.running(0), await rig.provider.running(1)];
    const other = await rig.submit(hello, callerOf('umbrella'));
    for (const cell of cells) cell.end({ kind: 'exited', exit_code: 0 });
    for (const key of alone) await rig.ended(key);
    (await rig.provider.running(2)).end({ kind: 'exited', exit_code: 0 });
    await rig.ended(other);
    const held = [await rig.submit(), await rig.submit()];
    await rig.provider.running(3);
    const newcomer = await rig.submit(hello, callerOf('umbrella'));
    (await rig.provider.running(4)).end({ kind: 'exited', exit_code: 0 });
    expect((await rig.ended(newcomer)).status).toBe('succeeded');
    expect((await rig.row(held[1] as JobKey)).status).toBe('queued');
    for (const ordinal of [3, 5]) (await rig.provider.running(ordinal)).end({ kind: 'exited', exit_code: 0 });
    for (const key of held) expect((await rig.ended(key)).status).toBe('succeeded');
  });

  test('a tenant has no more slots than the operator allows', async () => {
    await using rig = await JobRig.open({ concurrency: 3, tenantConcurrency: 1 });
    const keys = [await rig.submit(), await rig.submit()];
    const first = await rig.provider.running(0);
    expect(rig.dispatcher.inFlight).toBe(1);
    first.end({ kind: 'exited', exit_code: 0 });
    (await rig.provider.running(1)).end({ kind: 'exited', exit_code: 0 });
    for (const key of keys) await rig.ended(key);
  });

  test('go to a waiting tenant before any other tenant gets a second slot', async () => {
    await using rig = await JobRig.open({ concurrency: 1 });
    const keys = [await rig.submit(), await rig.submit(), await rig.submit(hello, callerOf('umbrella'))];
    for (const ordinal of [0, 1, 2]) (await rig.provider.running(ordinal)).end({ kind: 'exited', exit_code: 0 });
    const [first, second, other] = await Promise.all(keys.map((key) => rig.ended(key)));
    expect(String(first?.started_at) <= String(other?.started_at)).toBe(true);
    expect(String(other?.started_at) <= String(second?.started_at)).toBe(true);
  });
});

describe('a cancelled job', () => {
  test('a queued job ends at once when it is cancelled, and never runs', async () => {
    await using rig = await JobRig.open({ concurrency: 1 });
    await rig.submit();
    const blocking = await rig.provider.running(0);
    const key = await rig.submit();
    const answer = await rig.cancel(key.job_id);
    expect(answer).toMatchObject({ status: 'cancelled', already_terminal: false, cancellation_requested: true });
    blocking.end({ kind: 'exited', exit_code: 0 });
    expect((await rig.past(key)).map(([kind]) => kind)).toEqual(['queued', 'cancel_requested', 'finished']);
  });

  test('a running job is killed when it is cancelled, and keeps what it wrote', async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit();
    const cell = await rig.provider.running(0);
    cell.write('stdout', { text: 'so far' });
    const answer = await rig.cancel(key.job_id);
    expect(answer).toMatchObject({ already_terminal: false, cancellation_requested: true });
    expect(await rig.ended(key)).toMatchObject({ status: 'cancelled', terminal_reason: 'cancelled', exit_code: null });
    expect(cell.stopped).toBe('cancelled');
    expect((await rig.past(key)).map(([kind]) => kind).toSorted()).toEqual(
      ['queued', 'started', 'stdout', 'cancel_requested', 'finished'].toSorted(),
    );
  });

  test('a job that is cancelled while its cell is prepared never runs, and the cell is dropped', async () => {
    await using rig = await JobRig.open();
    const { promise, resolve } = Promise.withResolvers<typeof readyPosture>();
    const asked = Promise.withResolvers<void>();
    rig.provider.script = () => {
      asked.resolve();
      return promise;
    };
    const key = await rig.submit();
    await asked.promise;
    await rig.cancel(key.job_id);
    resolve(readyPosture);
    expect((await rig.ended(key)).status).toBe('cancelled');
    rig.provider.script = () => readyPosture;
    const next = await rig.submit();
    (await rig.provider.running(1)).end({ kind: 'exited', exit_code: 0 });
    await rig.ended(next);
    expect(rig.provider.cells[0]).toMatchObject({ program: null, disposed: true });
  });

  test('cancelling an ended job changes nothing', async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit();
    (await rig.provider.running(0)).end({ kind: 'exited', exit_code: 0 });
    await rig.ended(key);
    const before = await rig.detail(key.job_id);
    expect(await rig.cancel(key.job_id)).toEqual({ ...before, already_terminal: true });
    expect(await rig.detail(key.job_id)).toEqual(before);
  });

  test('cancelling another tenant’s job fails as not found, and the job continues', async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit();
    const cell = await rig.provider.running(0);
    await expect(rig.jobs.cancel(callerOf('umbrella'), key.job_id)).rejects.toMatchObject({ code: 'job_not_found' });
    expect(cell.stopped).toBeNull();
    cell.end({ kind: 'exited', exit_code: 0 });
    expect((await rig.ended(key)).status).toBe('succeeded');
  });
});

describe('a stopping dispatcher', () => {
  test('lets a running job end by itself within the grace period', async () => {
    const rig = await JobRig.open({ drainSeconds: 3600 });
    const key = await rig.submit();
    const cell = await rig.provider.running(0);
    const drained = rig.dispatcher[Symbol.asyncDispose]();
    cell.end({ kind: 'exited', exit_code: 0 });
    await drained;
    expect((await rig.row(key)).status).toBe('succeeded');
    await rig[Symbol.asyncDispose]();
  });

  test('ends a job that is still running as server_shutdown, and leaves queued jobs queued', async () => {
    const rig = await JobRig.open({ concurrency: 1 });
    const running = await rig.submit();
    const queued = await rig.submit();
    const cell = await rig.provider.running(0);
    await rig.dispatcher[Symbol.asyncDispose]();
    expect(cell.stopped).toBe('server_shutdown');
    expect(await rig.row(running)).toMatchObject({ status: 'error', terminal_reason: 'server_shutdown' });
    expect((await rig.row(queued)).status).toBe('queued');
    await rig[Symbol.asyncDispose]();
  });

  test('leaves a job queued if its cell is still being prepared, even if the preparation fails', async () => {
    for (const outcome of [readyPosture, new BootstrapError('kill', 'the provider is closing', unready)]) {
      const rig = await JobRig.open();
      const { promise, resolve, reject } = Promise.withResolvers<typeof readyPosture>();
      const asked = Promise.withResolvers<void>();
      rig.provider.script = () => {
        asked.resolve();
        return promise;
      };
      const key = await rig.submit();
      await asked.promise;
      const drained = rig.dispatcher[Symbol.asyncDispose]();
      setImmediate(() => (outcome instanceof Error ? reject(outcome) : resolve(outcome)));
      await drained;
      expect((await rig.row(key)).status).toBe('queued');
      await rig[Symbol.asyncDispose]();
    }
  });
});

describe('a store that fails', () => {
  test('if the store fails while output is recorded, the program is ended and the job ends as internal_error', async () => {
    await using rig = await JobRig.open({ faults: () => ({ append: () => Promise.reject(new Error('disk full')) }) });
    const key = await rig.submit();
    const cell = await rig.provider.running(0);
    cell.write('stdout', { text: 'lost' });
    expect(await rig.ended(key)).toMatchObject({ status: 'error', terminal_reason: 'internal_error' });
    expect(cell.stopped).not.toBeNull();
    expect((await rig.past(key)).map(([kind]) => kind)).toEqual(['queued', 'started', 'finished']);
  });

  test('if the store fails when a job starts or ends, the service tries again until the change is stored', async () => {
    let failures = 0;
    const busy = () => Promise.reject(new Error(`busy ${++failures}`));
    await using rig = await JobRig.open({
      faults: (real) => ({
        start: (input) => (failures < 1 ? busy() : real.start(input)),
        finish: (input) => (failures < 3 ? busy() : real.finish(input)),
      }),
    });
    const key = await rig.submit();
    (await rig.provider.running(0)).end({ kind: 'exited', exit_code: 0 });
    expect(await rig.ended(key)).toMatchObject({ status: 'succeeded', exit_code: 0 });
    expect(failures).toBe(3);
  });

  test('if the store refuses a job’s outcome, the service still records that the job ended', async () => {
    await using rig = await JobRig.open({
      faults: (real) => ({
        finish: (input) => (input.usage === null ? real.finish(input) : Promise.reject(new Error('too large'))),
      }),
    });
    const key = await rig.submit();
    (await rig.provider.running(0)).end({ kind: 'exited', exit_code: 0 });
    expect(await rig.ended(key)).toMatchObject({ status: 'error', terminal_reason: 'internal_error' });
  });
});

test('a follower sees each stage of a job: queued, started, output and finished', async () => {
  await using rig = await JobRig.open();
  const key = await rig.submit();
  const seen: string[] = [];
  const following = (async () => {
    for await (const page of rig.jobs.tail(acme, key.job_id, { after: 0, signal: never })) {
      seen.push(...page.map((text) => (JSON.parse(text) as JobEvent).kind));
    }
  })();
  const cell = await rig.provider.running(0);
  cell.write('stdout', { text: 'a' });
  cell.end({ kind: 'exited', exit_code: 0 });
  await following;
  expect(seen).toEqual(['queued', 'started', 'stdout', 'finished']);
});
