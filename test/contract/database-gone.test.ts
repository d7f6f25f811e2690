/** A service on PostgreSQL, and what its callers see while the database is gone. */
import { expect, onTestFinished, test } from 'vitest';
import { startPostgres } from '../rig/postgres-server.ts';
import { Rig } from '../rig/rig.ts';

test('a service whose database is down answers 503 and is not ready; its running job ends once the database is up', {
  tags: ['Errors-18b'],
}, async () => {
  await using server = await startPostgres();
  const rig = await Rig.start({ 'database-url': server.url });
  onTestFinished(async () => {
    expect(await rig.stop()).toEqual([]);
  });
  const waits = {
    language: 'python',
    code: 'import sys\nprint("before", flush=True)\nfor _ in range(10**7): pass\nprint("after")',
  };
  const { job_id } = await rig.alpha.client.submit(waits);
  await expect.poll(async () => (await rig.alpha.client.detail(job_id)).status).not.toBe('queued');
  await server.kill();
  const refused = await rig.post({ language: 'python', code: 'print(1)' });
  expect([refused.status, refused.json]).toEqual([
    503,
    { error: expect.objectContaining({ code: 'store_unavailable' }) as unknown },
  ]);
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  const readiness = () => rig.request('/readyz', { key: null });
  await expect.poll(async () => (await readiness()).status).toBe(503);
  await server.start();
  await expect.poll(async () => (await readiness()).status).toBe(200);
  const { result, detail, events } = await rig.ended(job_id);
  expect(detail.terminal_reason).toBe('exited');
  expect(result).toMatchObject({ status: 'succeeded', stdout: 'before\nafter\n' });
  expect(events.map(({ kind }) => kind).filter((kind) => kind === 'finished')).toHaveLength(1);
  expect((await rig.run({ language: 'python', code: 'print(2)' })).result.stdout).toBe('2\n');
});
