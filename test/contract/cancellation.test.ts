/** Spec § DELETE /v1/jobs/{id}, § States and transitions. */
import { describe, expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';

const rig = useRig({ concurrency: '1' });
const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } };

/** Submits a program and resolves once its output shows that it runs. */
async function running(submission = sleeper): Promise<string> {
  const { client } = rig().alpha;
  const { job_id } = await client.submit(submission);
  for await (const { kind } of client.follow(job_id)) if (kind === 'stdout') break;
  return job_id;
}

describe('cancelling a running job', () => {
  test('ends it as cancelled, keeps its output, and records who asked', {
    tags: ['States-1h', 'Cancel-1', 'Events-3', 'Events-4b'],
  }, async () => {
    const job_id = await running();
    const { status, json } = await rig().request(`/v1/jobs/${job_id}`, { method: 'DELETE' });
    expect(status).toBe(200);
    expect(json).toMatchObject({ job_id, tenant: 'alpha', cancellation_requested: true, already_terminal: false });
    const { result, detail, events } = await rig().ended(job_id);
    expect(result).toMatchObject({ status: 'cancelled', exit_code: null, stdout: 'started\n' });
    expect(detail).toMatchObject({ terminal_reason: 'cancelled', cancellation_requested: true, signal: null });
    expect(events.map(({ kind }) => kind)).toEqual(['queued', 'started', 'stdout', 'cancel_requested', 'finished']);
    expect(events[3]?.data).toEqual({ principal: expect.any(String) as unknown });
  });

  test('ends a program that ignores signals', { tags: ['States-1h'] }, async () => {
    const job_id = await running({ ...sleeper, code: "trap '' TERM INT HUP; echo started; while :; do sleep 1; done" });
    await rig().alpha.client.cancel(job_id);
    expect((await rig().ended(job_id)).result.status).toBe('cancelled');
  });

  test('five times at once is recorded as one cancellation', { tags: ['Cancel-2'] }, async () => {
    const job_id = await running();
    await Promise.all(Array.from({ length: 5 }, () => rig().alpha.client.cancel(job_id)));
    const { events, result } = await rig().ended(job_id);
    expect(result.status).toBe('cancelled');
    expect(events.filter(({ kind }) => kind === 'finished')).toHaveLength(1);
    expect(events.filter(({ kind }) => kind === 'cancel_requested')).toHaveLength(1);
  });
});

test('cancelling a queued job ends it at once, and it never runs', { tags: ['States-1h'] }, async () => {
  const { client } = rig().alpha;
  const blocker = await running();
  const { job_id } = await client.submit({ language: 'bash', code: 'echo ran' });
  const cancelled = await client.cancel(job_id);
  expect(cancelled).toMatchObject({ status: 'cancelled', cancellation_requested: true, already_terminal: false });
  expect(cancelled).toMatchObject({ effective_spec: null, started_at: null, networking: null, backend: null });
  await client.cancel(blocker);
  const { result, detail, events } = await rig().ended(job_id);
  expect(result).toMatchObject({ status: 'cancelled', stdout: '', exit_code: null });
  expect(events.map(({ kind }) => kind)).not.toContain('started');
  expect(events.at(-1)?.kind).toBe('finished');
  // No executor got the job, so the receipt claims nothing about an executor.
  expect(detail.receipt).not.toHaveProperty('backend');
  expect(detail.receipt).not.toHaveProperty('effective_limits');
  await rig().ended(blocker);
});

describe('a job that has ended', () => {
  test.each([
    ['succeeded', 'true', {}],
    ['failed', 'false', {}],
    ['timed_out', 'sleep 60', { wall_seconds: 0.3 }],
  ])(
    'as %s keeps its status and history when a client cancels it',
    { tags: ['States-1', 'States-1i', 'Cancel-2'] },
    async (status, code, limits) => {
      const before = await rig().run({ language: 'bash', code, limits });
      const answer = await rig().request(`/v1/jobs/${before.job_id}`, { method: 'DELETE' });
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ status, already_terminal: true, cancellation_requested: false });
      const after = await rig().ended(before.job_id);
      expect(after.detail).toEqual(before.detail);
      expect(after.events).toEqual(before.events);
    },
  );

  test('as cancelled stays cancelled, and a second cancellation reports the job as already terminal', {
    tags: ['Cancel-1'],
  }, async () => {
    const job_id = await running();
    await rig().alpha.client.cancel(job_id);
    await rig().ended(job_id);
    const again = await rig().alpha.client.cancel(job_id);
    expect(again).toMatchObject({ status: 'cancelled', already_terminal: true, cancellation_requested: true });
  });
});
