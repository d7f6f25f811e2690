import { describe, expect, test } from 'vitest';
import { JobRig } from '../../../test/job-rig.ts';
import { SPEC } from '../../store/store.fixture.ts';

describe('a job of the service itself', () => {
  const input = (job_id: string) => ({
    tenant: '.canary',
    job_id,
    created_at: new Date().toISOString(),
    idempotency: null,
    isNumbered: true,
    queueMax: 9,
    tenantQueueMax: 9,
    blobBytesMax: 0,
    requested_spec: { ...SPEC, language: 'python' as const, requirements: { minimum_isolation: 'none' as const } },
  });
  const prepare = (rig: JobRig) => () => rig.provider.prepare({ language: 'python' });

  test('takes no slot, so that tenants’ jobs still start', async () => {
    await using rig = await JobRig.open({ concurrency: 1 });
    await rig.queueSeen();
    const own = rig.dispatcher.runBeside(input('job_own'), prepare(rig));
    const cell = await rig.provider.running(0);
    expect(rig.dispatcher.inFlight).toBe(0);
    const key = await rig.submit();
    const theirs = await rig.provider.running(1);
    theirs.end({ kind: 'exited', exit_code: 0 });
    expect((await rig.ended(key)).status).toBe('succeeded');
    cell.end({ kind: 'exited', exit_code: 0 });
    expect(await own).toBe(true);
    expect((await rig.row({ tenant: '.canary', job_id: 'job_own' })).status).toBe('succeeded');
  });

  test('does not begin while a job of a tenant waits', async () => {
    await using rig = await JobRig.open({ concurrency: 1 });
    await rig.submit();
    const running = await rig.provider.running(0);
    await rig.submit();
    expect(await rig.dispatcher.runBeside(input('job_own'), prepare(rig))).toBe(false);
    running.end({ kind: 'exited', exit_code: 0 });
    (await rig.provider.running(1)).end({ kind: 'exited', exit_code: 0 });
  });

  test('is ended at once when the service stops', async () => {
    const rig = await JobRig.open({ drainSeconds: 60 });
    await rig.queueSeen();
    const own = rig.dispatcher.runBeside(input('job_own'), prepare(rig));
    const cell = await rig.provider.running(0);
    const stopped = rig.dispatcher[Symbol.asyncDispose]();
    await expect.poll(() => cell.stopped).toBe('server_shutdown');
    cell.end({ kind: 'stopped', cause: 'server_shutdown' });
    await stopped;
    expect(await own).toBe(true);
    await rig[Symbol.asyncDispose]();
  });
});
