/** Spec § GET result, § Errors: what a service that is stopping still answers, and what it leaves. */
import { expect, test } from 'vitest';
import { Rig } from '../rig/rig.ts';

const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } };

test('a wait that the stop interrupts is 503 shutting_down, retryable, and has no partial result', async () => {
  const rig = await Rig.start({ 'drain-seconds': '0.2', concurrency: '1' });
  const { client } = rig.alpha;
  const { job_id } = await client.submit(sleeper);
  for await (const { kind } of client.follow(job_id)) if (kind === 'stdout') break;
  const queued = await client.submit(sleeper);
  const waits = [job_id, queued.job_id].map((id) => rig.request(`/v1/jobs/${id}/result?wait_seconds=60`));
  // A wait is held once a read of the same tenant that came after it was answered.
  await rig.request('/v1/whoami');
  const stopped = rig.stop();
  for (const { status, json, headers } of await Promise.all(waits)) {
    expect([status, json.error.code, json.error.retryable]).toEqual([503, 'shutting_down', true]);
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(json).not.toHaveProperty('stdout');
  }
  expect(await stopped).toEqual([]);
});

test('stopping twice is stopping once, and nothing is left of a job that was running', async () => {
  const rig = await Rig.start({ 'drain-seconds': '0', concurrency: '2' });
  const { client } = rig.alpha;
  const running = await client.submit(sleeper);
  await client.submit(sleeper);
  await client.submit(sleeper);
  for await (const { kind } of client.follow(running.job_id)) if (kind === 'stdout') break;
  const first = rig.service.stop();
  await rig.service.stop();
  await first;
  expect(await rig.stop()).toEqual([]);
});

test('what was queued when the service stopped runs when it starts again', async () => {
  const first = await Rig.start({ 'drain-seconds': '0', concurrency: '1' });
  const blocker = await first.alpha.client.submit(sleeper);
  for await (const { kind } of first.alpha.client.follow(blocker.job_id)) if (kind === 'stdout') break;
  const { job_id } = await first.alpha.client.submit({ language: 'bash', code: 'echo later' });
  expect(await first.stop('kept')).toEqual([]);

  const second = await Rig.start({}, first.dataDir);
  expect((await second.ended(job_id)).result).toMatchObject({ status: 'succeeded', stdout: 'later\n' });
  const { detail } = await second.ended(blocker.job_id);
  expect(detail).toMatchObject({ status: 'error', terminal_reason: 'server_shutdown' });
  // It was observed while it ran, and that is kept.
  expect(detail.effective_spec?.isolation_class).toBe('linux-shared-kernel');
  expect(await second.stop()).toEqual([]);
});
