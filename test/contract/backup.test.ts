/** A backup of a running service has everything that was acknowledged. A service started from the backup serves all of this. */
import { copyFileSync, cpSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { Rig } from '../rig/rig.ts';

let rig: Rig;
const scratch = mkdtempSync(join(tmpdir(), 'svc-backup-'));
beforeAll(async () => {
  rig = await Rig.start();
});
afterAll(async () => {
  rmSync(scratch, { recursive: true });
  expect(await rig.stop()).toEqual([]);
});

const backup = (file: string, dataDir = rig.dataDir) => vouchbox(['backup', file, '--data-dir', dataDir]);

test('a backup of a running service is complete, and passes every check after it is restored', {
  tags: ['STORE-12'],
}, async () => {
  const ran = await rig.run({ language: 'bash', code: 'echo kept' });
  const file = join(scratch, 'store.db');
  expect(await backup(file)).toMatchObject({ code: 0, stdout: '' });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-rig-'));
  copyFileSync(file, join(dataDir, 'svc.db'));
  const restored = await Rig.start({ 'store-check': 'full' }, dataDir);
  expect(await restored.ended(ran.job_id)).toEqual(ran);
  expect(await restored.stop()).toEqual([]);
});

test('a service with a restored store and restored keys serves the same signed bytes as before (ATT-05, STORE-12)', {
  tags: ['STORE-12'],
}, async () => {
  const signing = { 'attestation-mode': 'on', 'log-host': 'log.example' };
  const first = await Rig.start(signing);
  const { job_id } = await first.run({ language: 'bash', code: 'echo signed', promise: true });
  const before = await signedBytes(first, job_id);
  const file = join(scratch, 'signed.db');
  expect((await backup(file, first.dataDir)).code).toBe(0);
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-rig-'));
  copyFileSync(file, join(dataDir, 'svc.db'));
  cpSync(join(first.dataDir, 'attestation-keys'), join(dataDir, 'attestation-keys'), { recursive: true });
  expect(await first.stop()).toEqual([]);
  const restored = await Rig.start({ ...signing, 'store-check': 'full' }, dataDir);
  expect(await signedBytes(restored, job_id)).toEqual(before);
  expect((await restored.request('/v1/status')).json.signer).toMatchObject({ outbox_depth: 0, last_error: null });
  expect(await restored.stop()).toEqual([]);
});

/** The bytes of a job's envelope, result and promise, each with its digest, once all three can be read. */
async function signedBytes({ alpha: { client } }: Rig, job_id: string) {
  const isSigned = async () => (await client.detail(job_id)).attestation.available;
  await expect.poll(isSigned, { timeout: 60_000 }).toBe(true);
  return [await client.attestation(job_id), await client.resultArtifact(job_id), await client.promise(job_id)];
}

test('a backup overwrites nothing, and leaves no partial file', async () => {
  const file = join(scratch, 'twice.db');
  await backup(file);
  const second = await backup(file);
  expect(second).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^vouchbox: .*twice\.db: it exists[^\n]*\n$/),
  });
  expect((await backup(join(scratch, 'nowhere', 'x.db'))).code).toBe(1);
  expect((await backup(join(scratch, 'none.db'), scratch)).stderr).toMatch(/there is no store\n$/);
  expect(existsSync(join(scratch, 'none.db'))).toBe(false);
  expect(existsSync(`${file}.partial`)).toBe(false);
});

test('a store that no service uses can be backed up too', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-rig-'));
  const other = await Rig.start({}, dataDir);
  const ran = await other.run({ language: 'bash', code: 'echo kept' });
  await other.stop('kept');
  const file = join(scratch, 'idle.db');
  expect((await backup(file, dataDir)).code).toBe(0);
  const again = mkdtempSync(join(tmpdir(), 'svc-rig-'));
  copyFileSync(file, join(again, 'svc.db'));
  const restored = await Rig.start({ 'store-check': 'full' }, again);
  expect(await restored.ended(ran.job_id)).toEqual(ran);
  expect(await restored.stop()).toEqual([]);
  rmSync(dataDir, { recursive: true });
});
