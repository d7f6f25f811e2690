import type { JobList } from '@vouchbox/protocol';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { acme, callerOf, hello, JobRig } from '../../../test/job-rig.ts';
import { readyPosture } from '../../../test/scripted-provider.ts';
import { StoreError } from '../../store/store-error.ts';

const exited = { kind: 'exited', exit_code: 0 } as const;

/** A rig whose dispatcher has already found its queue empty. */
async function idleRig(options: Parameters<typeof JobRig.open>[0] = {}): Promise<JobRig> {
  const rig = await JobRig.open(options);
  await rig.queueSeen();
  return rig;
}

afterEach(() => void vi.useRealTimers());

/** A gate at which a step of the store waits. */
function gate() {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    open: () => opened.resolve(),
    async pass() {
      reached.resolve();
      await opened.promise;
    },
  };
}

/** A rig whose store answers a submission only when the gate is opened. */
function rigThatIsSlowToSay(stored: ReturnType<typeof gate>): Promise<JobRig> {
  return idleRig({
    faults: (real) => ({
      async admit(input) {
        const result = await real.admit(input);
        await stored.pass();
        return result;
      },
    }),
  });
}

describe('a submission that finds a free slot and a parked cell', () => {
  test('starts in the transaction that accepts the job, and needs one more transaction for its end', async () => {
    await using rig = await idleRig();
    const cell = rig.provider.park();
    const before = rig.commits();
    const { answer } = await rig.jobs.submit(acme, { body: hello, idempotencyKey: 'key' });
    const key = { tenant: 'acme', job_id: answer.job_id };
    expect(rig.commits()).toBe(before + 1);
    expect(answer.status).toBe('queued');
    expect(await rig.row(key)).toMatchObject({ status: 'running', created_at: answer.created_at });
    expect(cell).toMatchObject({ isReleased: true, program: { code: hello.code } });
    cell.write('stdout', { text: 'hello' });
    cell.end(exited);
    const row = await rig.ended(key);
    expect(rig.commits()).toBe(before + 2);
    expect(row).toMatchObject({ status: 'succeeded', execution: { isolation_class: 'linux-shared-kernel' } });
    expect(row.started_at !== null && row.created_at <= row.started_at).toBe(true);
    const past = await rig.past(key);
    expect(past.map(([kind]) => kind)).toEqual(['queued', 'started', 'stdout', 'finished']);
    expect(past[1]?.[1]).toMatchObject({ backend: 'namespace', limits: { mem_mb: 256 }, bootstrap_ready: true });
    await expect.poll(() => cell.disposed && rig.dispatcher.inFlight).toBe(0);
  });

  test('leaves the same records as a job that was queued', async () => {
    await using rig = await idleRig();
    rig.provider.park();
    const atOnce = await rig.submit();
    const queued = await rig.submit();
    for (const ordinal of [0, 1]) (await rig.provider.running(ordinal)).end(exited);
    const [one, other] = [await rig.ended(atOnce), await rig.ended(queued)];
    const alike = ({ requested_spec, execution, status }: typeof one) => ({ requested_spec, execution, status });
    expect(alike(one)).toEqual(alike(other));
    const [first, second] = [await rig.past(atOnce), await rig.past(queued)];
    expect(first.slice(0, 2)).toEqual(second.slice(0, 2));
    const members = (receipt: string | null) => Object.keys(JSON.parse(String(receipt)) as object);
    expect(members(one.receipt_json)).toEqual(members(other.receipt_json));
  });

  test('does not run before the store has recorded that the job is running', async () => {
    const stored = gate();
    await using rig = await rigThatIsSlowToSay(stored);
    const cell = rig.provider.park();
    const submitted = rig.submit();
    await stored.reached;
    expect(cell).toMatchObject({ isReleased: false, program: { code: hello.code } });
    stored.open();
    const key = await submitted;
    expect(cell.isReleased).toBe(true);
    cell.end(exited);
    await rig.ended(key);
  });
});

describe('a slot and a parked cell that a submission took without becoming a job', () => {
  test.each([
    ['a key that stands for another job', hello, 'replayed'],
    ['a key that was used for another specification', { ...hello, code: 'print(2)' }, 'idempotency_key_reused'],
  ])('are free again if the submission has %s', async (_, body, came) => {
    await using rig = await idleRig();
    const cells = [rig.provider.park(), rig.provider.park()];
    const submit = (given: object) => rig.jobs.submit(acme, { body: given, idempotencyKey: 'key' });
    // Both submissions look up the key before either is stored.
    const [first, second] = await Promise.allSettled([submit(hello), submit(body)]);
    expect(first).toMatchObject({ status: 'fulfilled', value: { replayed: false } });
    expect(second).toMatchObject(
      came === 'replayed' ? { value: { replayed: true } } : { status: 'rejected', reason: { code: came } },
    );
    await expect.poll(() => rig.dispatcher.inFlight).toBe(1);
    expect(cells.map(({ isReleased, disposed }) => [isReleased, disposed])).toEqual([
      [true, false],
      [false, true],
    ]);
    cells[0]?.end(exited);
    await expect.poll(() => rig.dispatcher.inFlight).toBe(0);
  });

  test.each([
    ['a full queue', { queue: { total: 0, perTenant: 0 } }, 'tenant_capacity_exhausted'],
    [
      'a store that fails',
      { faults: () => ({ admit: () => Promise.reject(new StoreError('full', 'no space')) }) },
      'insufficient_storage',
    ],
  ])('are free again if the submission meets %s', async (_, options, code) => {
    await using rig = await idleRig(options);
    const cell = rig.provider.park();
    await expect(rig.submit()).rejects.toMatchObject({ code });
    await expect.poll(() => rig.dispatcher.inFlight).toBe(0);
    expect(cell).toMatchObject({ isReleased: false, disposed: true });
  });

  test('a submission starts in an ended job’s slot as soon as that job’s cell is removed', async () => {
    await using rig = await idleRig({ concurrency: 1 });
    const gone = gate();
    const first = Object.assign(rig.provider.park(), { [Symbol.asyncDispose]: () => gone.pass() });
    const ended = await rig.submit();
    first.end(exited);
    await rig.ended(ended);
    // The clock stands still, so a submission that waits for the slot cannot time out.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const second = rig.provider.park();
    const before = rig.commits();
    const submitted = rig.submit();
    await rig.readsAnswered();
    expect(second.program).toBeNull();
    gone.open();
    const key = await submitted;
    vi.useRealTimers();
    expect(second.isReleased).toBe(true);
    expect(rig.commits()).toBe(before + 1);
    second.end(exited);
    expect((await rig.ended(key)).status).toBe('succeeded');
  });
});

describe('a submission that is queued instead of started', () => {
  test('a submission is queued and runs in another cell if its program cannot be handed to its parked cell', async () => {
    await using rig = await idleRig();
    const cell = rig.provider.park();
    cell.ready = Promise.reject(new Error('the cell is gone'));
    const key = await rig.submit();
    (await rig.provider.running(1)).end(exited);
    expect(await rig.ended(key)).toMatchObject({ status: 'succeeded' });
    expect(cell).toMatchObject({ isReleased: false, disposed: true });
  });

  test('a submission is queued and runs in another cell if its parked cell does not accept the program in time', async () => {
    await using rig = await idleRig();
    const cell = rig.provider.park();
    cell.ready = new Promise(() => {});
    const key = await rig.submit();
    (await rig.provider.running(1)).end(exited);
    expect(await rig.ended(key)).toMatchObject({ status: 'succeeded' });
    expect(cell).toMatchObject({ isReleased: false, disposed: true });
  });

  test('a submission is queued if the parked cell has less isolation than the submission demands', async () => {
    await using rig = await idleRig();
    const cell = rig.provider.park({ posture: { ...readyPosture, isolation_class: 'none' } });
    const key = await rig.submit({ ...hello, requirements: { minimum_isolation: 'linux-shared-kernel' } });
    (await rig.provider.running(1)).end(exited);
    expect(await rig.ended(key)).toMatchObject({ status: 'succeeded' });
    expect(cell).toMatchObject({ program: null, disposed: true });
  });

  test('a submission that needs more memory than all jobs together may have is queued without taking a parked cell', async () => {
    await using rig = await idleRig({ concurrentMemMbMax: 128 });
    rig.provider.park();
    const key = await rig.submit();
    expect(await rig.ended(key)).toMatchObject({ status: 'error', terminal_reason: 'bootstrap_failed' });
    expect(rig.provider.parked).toBe(1);
  });

  test('a submission is queued behind every waiting job, and overtakes none', async () => {
    await using rig = await idleRig({ concurrentMemMbMax: 512 });
    const large = { ...hello, limits: { mem_mb: 384 } };
    const keys = [await rig.submit(large), await rig.submit(large)];
    const running = await rig.provider.running(0);
    rig.provider.park();
    // There is room for this job beside the running job.
    const small = await rig.submit({ ...hello, limits: { mem_mb: 64 } });
    expect((await rig.row(small)).status).toBe('queued');
    expect(rig.provider.parked).toBe(1);
    running.end(exited);
    for (const ordinal of [2, 3]) (await rig.provider.running(ordinal)).end(exited);
    for (const key of [...keys, small]) expect((await rig.ended(key)).status).toBe('succeeded');
  });

  test.each([
    ['as many slots as the operator lets one have', { concurrency: 3, tenantConcurrency: 1 }],
    ['all slots but one, among other tenants', { concurrency: 2, tenantConcurrency: null }],
  ])('a submission is queued while its tenant holds %s', async (_, options) => {
    await using rig = await idleRig(options);
    const first = rig.provider.park();
    const other = await rig.submit(hello, callerOf('umbrella'));
    first.end(exited);
    await rig.ended(other);
    await expect.poll(() => rig.dispatcher.inFlight).toBe(0);
    const second = rig.provider.park();
    const held = await rig.submit();
    expect(second.isReleased).toBe(true);
    rig.provider.park();
    const waits = await rig.submit();
    expect((await rig.row(waits)).status).toBe('queued');
    expect(rig.provider.parked).toBe(1);
    second.end(exited);
    (await rig.provider.running(3)).end(exited);
    for (const key of [held, waits]) expect((await rig.ended(key)).status).toBe('succeeded');
  });

  test('a submission is queued until the dispatcher has read the queue, because older jobs may wait there', async () => {
    await using rig = await JobRig.open();
    rig.provider.park();
    const key = await rig.submit();
    expect(rig.provider.parked).toBe(1);
    (await rig.provider.running(1)).end(exited);
    await rig.ended(key);
  });
});

describe('a job whose program is in a cell but not yet released', () => {
  test('ends without running if it is cancelled', async () => {
    const stored = gate();
    await using rig = await rigThatIsSlowToSay(stored);
    const cell = rig.provider.park();
    const submitted = rig.submit();
    await stored.reached;
    const list = await rig.jobs.list(acme, { limit: 1 });
    const { items } = JSON.parse(list) as JobList;
    await rig.cancel(String(items[0]?.job_id));
    stored.open();
    const key = await submitted;
    expect(await rig.ended(key)).toMatchObject({ status: 'cancelled', duration_ms: 0 });
    expect((await rig.past(key)).map(([kind]) => kind)).toEqual(['queued', 'started', 'cancel_requested', 'finished']);
    expect(cell).toMatchObject({ isReleased: false, disposed: true });
  });

  test('stays queued if the service stops before the job is stored', async () => {
    const rig = await idleRig();
    const cell = rig.provider.park();
    const given = Promise.withResolvers<void>();
    cell.ready = given.promise;
    const submitted = rig.submit();
    await expect.poll(() => cell.program).not.toBeNull();
    const drained = rig.dispatcher[Symbol.asyncDispose]();
    given.resolve();
    const key = await submitted;
    await drained;
    expect((await rig.row(key)).status).toBe('queued');
    expect(cell).toMatchObject({ isReleased: false, disposed: true });
    await rig[Symbol.asyncDispose]();
  });

  test('ends without running if the service stops while the job is stored', async () => {
    const stored = gate();
    const rig = await idleRig({
      faults: (real) => ({
        async admit(input) {
          await stored.pass();
          return await real.admit(input);
        },
      }),
    });
    const cell = rig.provider.park();
    const submitted = rig.submit();
    await stored.reached;
    const drained = rig.dispatcher[Symbol.asyncDispose]();
    setImmediate(() => stored.open());
    const key = await submitted;
    await drained;
    expect(await rig.row(key)).toMatchObject({ status: 'error', terminal_reason: 'server_shutdown' });
    expect(cell).toMatchObject({ isReleased: false, disposed: true });
    await rig[Symbol.asyncDispose]();
  });
});
