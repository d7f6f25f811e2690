/** The host's clock is set forward or back while jobs wait, run or end (CHAIN-08, RST-10). */
import { verifyChain, verifyReceipt } from '@vouchbox/evidence';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Ran, Rig } from '../rig/rig.ts';

const day = 86_400_000;
/** Long enough that a timeout means a hang and not a busy machine. */
const patient = { timeout: 240_000 };
const settings = { 'attestation-mode': 'on', concurrency: '1', 'drain-seconds': '0' };
const endless = { language: 'bash', code: 'echo on; sleep 600' } as const;

afterEach(() => {
  vi.useRealTimers();
});

/** Sets the clock of this process and thus of the service in it. Durations are measured with another clock. */
function setClock(milliseconds: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + milliseconds });
}

async function wroteSomething({ alpha: { client } }: Rig, job_id: string): Promise<void> {
  await expect.poll(async () => (await client.result(job_id)).stdout, patient).toBe('on\n');
}

function expectTruthful({ detail, events }: Ran): void {
  const { created_at, started_at, finished_at, duration_ms, receipt } = detail;
  const times = [created_at, ...(started_at === null ? [] : [started_at]), String(finished_at)];
  expect(times).toEqual(times.toSorted());
  expect(duration_ms ?? 0).toBeGreaterThanOrEqual(0);
  expect(duration_ms ?? 0).toBeLessThan(day / 2);
  expect(verifyChain(events, { count: receipt?.event_chain.count ?? 0 })).toMatchObject({ kind: 'intact' });
  expect(receipt && verifyReceipt(receipt)).toMatchObject({ kind: 'intact' });
}

describe.each([
  ['forward', day],
  ['back', -day],
])('if the clock is set %s by a day', (_, jump) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await Rig.start(settings);
  });
  afterAll(async () => {
    expect(await rig.stop()).toEqual([]);
  });

  test('a running job ends once its wall limit has really elapsed, and is attested soon afterwards', {
    ...patient,
    tags: ['CHAIN-08'],
  }, async () => {
    const { client } = rig.alpha;
    const { job_id } = await client.submit({ ...endless, limits: { wall_seconds: 1 } });
    await wroteSomething(rig, job_id);
    setClock(jump);
    const ran = await rig.ended(job_id);
    expect(ran.detail).toMatchObject({ status: 'timed_out', terminal_reason: 'wall_limit' });
    expect(ran.detail.duration_ms).toBeGreaterThanOrEqual(1000);
    expectTruthful(ran);
    const isAttested = async () => (await client.detail(job_id)).attestation.available;
    await expect.poll(isAttested, patient).toBe(true);
  });

  test(
    'waiting and running jobs can be cancelled, and no job is recorded as ended before its submission',
    patient,
    async () => {
      const { client } = rig.alpha;
      const running = await client.submit(endless);
      await wroteSomething(rig, running.job_id);
      const waiting = await client.submit(endless);
      setClock(jump);
      await client.cancel(waiting.job_id);
      await client.cancel(running.job_id);
      for (const { job_id } of [waiting, running]) {
        const ran = await rig.ended(job_id);
        expect(ran.detail.status).toBe('cancelled');
        expectTruthful(ran);
      }
    },
  );

  test('a job that was queued when the service stopped runs after the next start', {
    ...patient,
    tags: ['RST-10'],
  }, async () => {
    const running = await rig.alpha.client.submit(endless);
    await wroteSomething(rig, running.job_id);
    const waiting = await rig.alpha.client.submit({ language: 'bash', code: 'echo later' });
    expect(await rig.stop('kept')).toEqual([]);
    setClock(jump);
    rig = await Rig.start(settings, rig.dataDir);
    const later = await rig.ended(waiting.job_id);
    expect(later.result).toMatchObject({ status: 'succeeded', stdout: 'later\n' });
    expectTruthful(later);
    expectTruthful(await rig.ended(running.job_id));
  });
});
