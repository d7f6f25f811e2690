/** Large input files: they are uploaded, a job reads them, and a verifier checks the exported job. */
import { createHash } from 'node:crypto';
import {
  createReadStream,
  mkdtempSync,
  openAsBlob,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { isProblem, parseExport, readExportBlobs, verifyExport } from '@vouchbox/verifier';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { Rig } from '../rig/rig.ts';

const MEBIBYTE = 1024 * 1024;
/** Prints its input's digest, to show that the job has read the whole input. */
const digester =
  'import hashlib, os\nfor n in sorted(os.listdir("input")): print(hashlib.sha256(open("input/"+n,"rb").read()).hexdigest())';

let rig: Rig;
let scratch: string;
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-export-uploads-'));
  rig = await Rig.start({ 'attestation-mode': 'on' });
  const pinned = ['attestation-keys', 'export', '--output', join(scratch, 'pinned.pem'), '--data-dir', rig.dataDir];
  expect((await vouchbox(pinned)).code).toBe(0);
  writeFileSync(join(scratch, 'digester.py'), digester);
});
afterAll(async () => {
  rmSync(scratch, { recursive: true });
  expect(await rig.stop()).toEqual([]);
});

const access = () => ['--url', rig.service.url, '--key', rig.alpha.key];
const verified = (directory: string) =>
  serviceVerify([
    'directory',
    join(scratch, directory),
    '--public-key',
    join(scratch, 'pinned.pem'),
    '--tenant',
    'alpha',
  ]);

/** A file with 64 KiB of random bytes, followed by zeros. */
function fileOf(name: string, bytes: number): string {
  const file = join(scratch, name);
  writeFileSync(file, crypto.getRandomValues(new Uint8Array(65_536)));
  truncateSync(file, bytes);
  return file;
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(file)) hash.update(piece as Uint8Array);
  return hash.digest('hex');
}

/** Runs the digester on these files from the command line, and returns the job. */
async function ran(...files: readonly string[]): Promise<string> {
  const words = files.flatMap((file) => ['--file', file]);
  const ended = await vouchbox(['run', join(scratch, 'digester.py'), ...words, '--json', ...access()]);
  expect([ended.code, ended.stderr]).toEqual([0, '']);
  const { job_id, stdout } = JSON.parse(ended.stdout) as { job_id: string; stdout: string };
  expect(stdout.trim().split('\n')).toEqual(await Promise.all(files.map(digestOf)));
  return job_id;
}

describe('a job with uploaded files', { tags: ['Limits-4a'] }, () => {
  test.each([
    ['3 MB', [3_000_000]],
    ['64 MiB in two files, as much as a job may have', [60_000_000, 64 * MEBIBYTE - 60_000_000]],
  ])('of %s runs, is exported, and its export verifies', async (name, sizes) => {
    const files = sizes.map((bytes, at) => fileOf(`${at}-${bytes}.bin`, bytes));
    const job_id = await ran(...files);
    const exported = await vouchbox(['export', job_id, '--output', name, ...access()], { cwd: scratch });
    expect(exported.code).toBe(0);
    expect(sizes.map((bytes, at) => statSync(join(scratch, name, 'input', `${at}-${bytes}.bin`)).size)).toEqual(sizes);
    expect(await verified(name)).toMatchObject({ exitCode: 0, stderr: '' });
  });

  test('is verified by a program that uses the verifier as a library, with the export’s blobs', async () => {
    const directory = join(scratch, '64 MiB in two files, as much as a job may have');
    const blobs = new Map<string, Blob>();
    for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
      const file = join(entry.parentPath, entry.name);
      if (entry.isFile()) blobs.set(relative(directory, file), await openAsBlob(file));
    }
    const files = await readExportBlobs(blobs);
    if (isProblem(files)) throw new Error(files.problem);
    expect(files.get('input/0-60000000.bin')).toMatchObject({ size_bytes: 60_000_000 });
    const expected = { publicKeys: [readFileSync(join(scratch, 'pinned.pem'), 'utf8')], tenant: 'alpha' };
    expect(await verifyExport(parseExport(files), expected)).toMatchObject({ exitCode: 0 });
    const other = new Map(blobs).set('input/0-60000000.bin', new Blob([new Uint8Array(60_000_000)]));
    expect(await verifyExport(parseExport(await readExportBlobs(other)), expected)).toMatchObject({ exitCode: 6 });
    const larger = new Map(blobs).set('input/0-60000000.bin', new Blob([new Uint8Array(64 * MEBIBYTE + 1)]));
    expect(await verifyExport(parseExport(await readExportBlobs(larger)), expected)).toMatchObject({ exitCode: 7 });
  });

  test('is exported from the data of the service after the service has stopped', async () => {
    const own = await Rig.start({ 'attestation-mode': 'on' });
    const bytes = crypto.getRandomValues(new Uint8Array(65_536));
    const { blob } = await own.alpha.client.upload(new Blob(Array<Uint8Array<ArrayBuffer>>(50).fill(bytes)));
    const files = [{ path: 'input/a', blob }];
    const { job_id } = await own.run({ language: 'bash', code: 'wc -c < input/a', files });
    const isSigned = () =>
      own.alpha.client.attestation(job_id).then(
        () => true,
        () => false,
      );
    await expect.poll(isSigned, { timeout: 20_000 }).toBe(true);
    expect(await own.stop('kept')).toEqual([]);
    const stored = ['--data-dir', own.dataDir, '--tenant', 'alpha', '--output', 'stored'];
    expect((await vouchbox(['export', job_id, ...stored], { cwd: scratch })).code).toBe(0);
    expect(await digestOf(join(scratch, 'stored/input/a'))).toBe(blob.slice('sha256:'.length));
    const pem = join(scratch, 'stored/public-key.pem');
    const words = ['directory', join(scratch, 'stored'), '--public-key', pem, '--tenant', 'alpha'];
    expect(await serviceVerify(words)).toMatchObject({ exitCode: 0 });
    rmSync(own.dataDir, { recursive: true });
  });
});
