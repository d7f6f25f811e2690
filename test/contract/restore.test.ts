/** `vouchbox restore` makes a data directory only from a backup that passes every check. */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { type Ran, Rig } from '../rig/rig.ts';

const scratch = mkdtempSync(join(tmpdir(), 'svc-restore-'));
const file = join(scratch, 'store.db');
const keys = join(scratch, 'keys-put-aside');
let ran: Ran;
let signed: unknown;

const SIGNING = { 'attestation-mode': 'on', 'log-host': 'log.example' };

/** Starts a service that signs a job and its promise, backs up its store, and copies its keys. */
beforeAll(async () => {
  const rig = await Rig.start(SIGNING);
  ran = await rig.run({ language: 'bash', code: 'echo kept', promise: true });
  signed = await signedBytes(rig, ran.job_id);
  expect((await vouchbox(['backup', file, '--data-dir', rig.dataDir])).code).toBe(0);
  cpSync(join(rig.dataDir, 'attestation-keys'), keys, { recursive: true });
  expect(await rig.stop()).toEqual([]);
});
afterAll(() => rmSync(scratch, { recursive: true }));

const fresh = () => join(mkdtempSync(join(tmpdir(), 'svc-rig-')), 'data');
const restoring = (from: string, dataDir: string, ...more: string[]) =>
  vouchbox(['restore', from, '--data-dir', dataDir, ...more]);

async function signedBytes({ alpha: { client } }: Rig, job_id: string) {
  const expectSigned = async () => expect((await client.detail(job_id)).attestation.available).toBe(true);
  await vi.waitFor(expectSigned, { timeout: 60_000 });
  return [await client.attestation(job_id), await client.resultArtifact(job_id), await client.promise(job_id)];
}

/** Expects that a restore is refused in one line, and leaves nothing behind. */
async function expectRefused(from: string, reason: RegExp, ...more: string[]): Promise<void> {
  const dataDir = fresh();
  const { code, stderr } = await restoring(from, dataDir, ...more);
  expect([code, stderr]).toEqual([1, expect.stringMatching(reason)]);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect(readdirSync(join(dataDir, '..'))).toEqual([]);
  rmSync(join(dataDir, '..'), { recursive: true });
}

test('a service with a restored backup serves every job, promise and signature byte for byte as before', {
  tags: ['STORE-12'],
}, async () => {
  const dataDir = fresh();
  mkdirSync(dataDir, { mode: 0o755 });
  expect(await restoring(file, dataDir, '--attestation-keys', keys)).toMatchObject({ code: 0, stdout: '' });
  const restored = await Rig.start({ ...SIGNING, 'store-check': 'full' }, dataDir);
  expect(await signedBytes(restored, ran.job_id)).toEqual(signed);
  expect((await restored.ended(ran.job_id)).events).toEqual(ran.events);
  expect(await restored.stop()).toEqual([]);
});

test('a restore from a backup without keys says that the keys are missing', async () => {
  const dataDir = fresh();
  expect((await restoring(file, dataDir)).stderr).toMatch(/no signing keys/);
  expect(existsSync(join(dataDir, 'attestation-keys'))).toBe(false);
  rmSync(join(dataDir, '..'), { recursive: true });
});

test('a restore refuses a directory with content, and leaves it unchanged', async () => {
  const dataDir = fresh();
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, 'mine'), 'x');
  expect(await restoring(file, dataDir)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/is not empty, and a restore overwrites nothing/),
  });
  expect(readdirSync(dataDir)).toEqual(['mine']);
  expect(readdirSync(join(dataDir, '..'))).toEqual(['data']);
  rmSync(join(dataDir, '..'), { recursive: true });
});

test('a restore reports in one line that a path has a loop of links', async () => {
  const loop = join(scratch, 'loop');
  symlinkSync(loop, loop);
  for (const words of [
    [file, join(loop, 'data')],
    [join(loop, 'backup'), fresh()],
  ] as const)
    expect(await restoring(...words)).toEqual(
      expect.objectContaining({
        code: 1,
        stderr: expect.stringMatching(/^vouchbox: .* cannot be made or read: ELOOP\n$/),
      }),
    );
});

test('a restore refuses a damaged backup, and leaves no data directory behind', async () => {
  const cut = join(scratch, 'cut.db');
  writeFileSync(cut, readFileSync(file).subarray(0, -8192));
  await expectRefused(cut, /cannot be restored: .*damaged/);
  const text = join(scratch, 'text.db');
  writeFileSync(text, 'no store at all, whatever its name says '.repeat(100));
  await expectRefused(text, /cannot be restored: /);
  await expectRefused(join(scratch, 'none.db'), /there is no file/);
});

test('a restore recomputes every digest, and refuses a backup in which a receipt was changed', async () => {
  const changed = join(scratch, 'changed.db');
  copyFileSync(file, changed);
  const database = new DatabaseSync(changed);
  database.exec("update receipts set receipt_json = replace(receipt_json, 'bash', 'dash')");
  database.close();
  await expectRefused(changed, /cannot be restored: .*receipt/);
});

test('a restore refuses a copied store that still has its write-ahead log', async () => {
  const copied = join(scratch, 'copied.db');
  copyFileSync(file, copied);
  writeFileSync(`${copied}-wal`, 'log');
  await expectRefused(copied, /a store with a log beside it.*vouchbox backup/);
});

test('a restore refuses signing keys that no service could use', async () => {
  const bad = join(scratch, 'bad-keys');
  mkdirSync(bad);
  writeFileSync(join(bad, 'signing-key.pem'), 'no key');
  await expectRefused(file, /signing keys cannot be restored: .*Ed25519/, '--attestation-keys', bad);
});
