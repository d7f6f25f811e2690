import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { EXPORT_FILES, EXPORT_MANIFEST, exportManifest, sealReceipt } from '@vouchbox/evidence';
import { afterAll, describe, expect, test } from 'vitest';
import { attestedJob, eventLines, exportOf, line, Scratch, signingKey } from '../test/attested-job.ts';
import { serviceVerify } from './service-verify.ts';

const GIBIBYTE = 1024 ** 3;
const command = join(import.meta.dirname, '../bin/service-verify');

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const job = attestedJob({
  code: 'print("hello")',
  stdin: 'in',
  inputs: { 'input/a.csv': '1,2\n' },
  outputs: { 'output/deep/er/plot.svg': '<svg/>', 'output/b': '' },
});
const key = scratch.write('key.pem', job.key.publicKeyPem);
let made = 0;

type Files = Map<string, string | Uint8Array>;

/** A good export with these changes; `undefined` removes a file. The manifest is unchanged. */
function directory(changes: Readonly<Record<string, string | undefined>> = {}): string {
  const files: Files = exportOf(job);
  for (const [path, content] of Object.entries(changes)) {
    if (content === undefined) files.delete(path);
    else files.set(path, content);
  }
  return scratch.writeAll(`export-${++made}`, files);
}

/** Writes the changes, and a manifest that lists the changed files. */
function relisted(changes: Readonly<Record<string, string>>): string {
  const files = new Map(job.files);
  for (const [path, content] of Object.entries(changes)) files.set(path, new TextEncoder().encode(content));
  return scratch.writeAll(`export-${++made}`, new Map([...files, [EXPORT_MANIFEST, exportManifest(job, files)]]));
}

async function verify(path: string, ...more: readonly string[]) {
  const words = ['directory', path, '--public-key', key, '--tenant', job.tenant, '--json', ...more];
  const { exitCode, stdout, stderr } = await serviceVerify(words);
  if (stdout === '') return { exitCode, stderr, failed: [] };
  const { checks, facts } = JSON.parse(stdout) as {
    checks: { check: string; good: boolean; detail: string }[];
    facts: object;
  };
  return { exitCode, facts, checks, failed: checks.filter(({ good }) => !good).map(({ check }) => check) };
}

describe('service-verify directory', () => {
  test('checks every file and every statement of an exported job', async () => {
    const { exitCode, checks = [], facts } = await verify(directory());
    expect({ exitCode, facts }).toMatchObject({ exitCode: 0, facts: { job_id: job.job_id, status: 'succeeded' } });
    expect(checks.slice(12).map(({ check }) => check)).toEqual([
      ...['manifest', 'public_key_file', 'receipt_file', 'receipt', 'chain', 'chain_summary', 'finished', 'output'],
      ...[
        'artifacts',
        'result_content',
        'code',
        'input/a.csv',
        'output/b',
        'output/deep/er/plot.svg',
        'policy.json',
        'stdin',
      ],
    ]);
  });

  test('accepts an export from which the program’s files were left out', async () => {
    const bare = Object.values(EXPORT_FILES).map((path) => [path, job.files.get(path) as Uint8Array] as const);
    const files = new Map(bare);
    const path = scratch.writeAll('bare', new Map([...files, [EXPORT_MANIFEST, exportManifest(job, files)]]));
    expect(await verify(path)).toMatchObject({ exitCode: 0 });
  });

  test('also compares the result with a policy', async () => {
    expect(await verify(directory(), '--require', 'status=succeeded')).toMatchObject({ exitCode: 0 });
    expect(await verify(directory(), '--require', 'exit_code=1')).toMatchObject({
      exitCode: 5,
      failed: ['exit_code=1'],
    });
    expect(await verify(directory(), '--require', 'x=1')).toMatchObject({ exitCode: 1 });
  });

  test('trusts only the pinned key, tenant and job, and nothing in the directory', async () => {
    const stranger = signingKey();
    const forged = attestedJob({ key: stranger, bodies: [line('stdout', 'forged')] });
    const path = scratch.writeAll('forged', exportOf(forged));
    expect(await verify(path)).toMatchObject({ exitCode: 2, failed: ['signature'], facts: {} });
    expect(await verify(directory(), '--job', 'job_other')).toMatchObject({ exitCode: 4, failed: ['subject_name'] });
    expect(await verify(directory(), '--job', job.job_id)).toMatchObject({ exitCode: 0 });
    const words = ['directory', directory(), '--public-key', key, '--tenant', 'other'];
    expect(await serviceVerify(words)).toMatchObject({ exitCode: 4 });
  });
});

describe('an exported directory that was damaged', () => {
  test.each(Array.from(job.files.keys()))('is refused if %s is missing or has one more byte', async (path) => {
    const text = new TextDecoder().decode(job.files.get(path));
    expect(await verify(directory({ [path]: undefined }))).toMatchObject({ exitCode: 6, failed: ['directory'] });
    expect(await verify(directory({ [path]: `${text} ` }))).toMatchObject({ exitCode: 6, failed: ['directory'] });
  });

  test('is refused if a directory takes the place of a file', async () => {
    const path = directory({ 'output/b': undefined });
    mkdirSync(join(path, 'output/b'));
    expect(await verify(path)).toMatchObject({ exitCode: 6, failed: ['directory'] });
  });
});

describe('a directory that is not an export', () => {
  test.each([
    ['no manifest', { [EXPORT_MANIFEST]: undefined }, 'there is no manifest.json'],
    ['a malformed manifest', { [EXPORT_MANIFEST]: '{}' }, 'manifest.json is refused'],
    ['an unlisted file', { 'output/unlisted': 'x' }, 'output/unlisted is not listed'],
    ['a file that no export has', { 'README.md': 'trust me' }, 'README.md is not a file of an export'],
  ])('gives exit code 7, unlike a damaged export: %s', async (_what, changes, says) => {
    const { exitCode, checks } = await verify(directory(changes));
    expect({ exitCode, checks }).toMatchObject({ exitCode: 7, checks: [{ check: 'directory', good: false }] });
    expect(checks?.[0]?.detail).toContain(says);
  });

  test('is refused at once if a link, a pipe or a directory takes the place of a file', async () => {
    for (const plant of [
      (path: string) => symlinkSync('/etc/passwd', path),
      (path: string) => execFileSync('mkfifo', [path]),
      (path: string) => mkdirSync(path),
    ]) {
      for (const name of [EXPORT_FILES.receipt, 'input/a.csv']) {
        const path = directory({ [name]: undefined });
        mkdirSync(join(path, 'input'), { recursive: true });
        plant(join(path, name));
        const { exitCode } = await verify(path);
        // Below input/, an export may have directories: there, only the file counts as missing.
        expect(exitCode).toBe(statSync(join(path, name)).isDirectory() && name.startsWith('input/') ? 6 : 7);
      }
    }
    const linked = directory();
    rmSync(join(linked, 'output'), { recursive: true });
    symlinkSync('/etc', join(linked, 'output'));
    expect(await verify(linked)).toMatchObject({ exitCode: 7, failed: ['directory'] });
  });

  test('is refused if it has more entries than any export has', async () => {
    const path = directory();
    for (let number = 0; number < 1740; number++) mkdirSync(join(path, `output/d${number}`));
    const { exitCode, checks } = await verify(path);
    expect([exitCode, checks?.[0]?.detail]).toEqual([7, 'there are more than 1728 files and directories']);
  });

  test.each([
    ['input/huge', 100 * GIBIBYTE, 'input/huge is larger than 64 MiB'],
    ['output/huge', 100 * GIBIBYTE, 'output/huge is larger than 64 MiB'],
    [EXPORT_FILES.events, 100 * GIBIBYTE, 'events.ndjson is larger than 64 MiB'],
    [EXPORT_MANIFEST, 100 * GIBIBYTE, 'manifest.json is larger than 256 KiB'],
    ['input/b', 64 * 1024 ** 2, 'makes input/ larger than 64 MiB'],
  ])('is refused before its file %s of %d bytes is read', async (path, bytes, says) => {
    const at = directory({ [path]: '' });
    truncateSync(join(at, path), bytes);
    const { exitCode, checks } = await verify(at);
    expect([exitCode, checks?.[0]?.detail]).toEqual([7, expect.stringContaining(says)]);
  });
});

describe('a directory that cannot be read', () => {
  test('is reported as missing, or as a file that must be unpacked', async () => {
    expect(await verify('/nowhere')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('ENOENT') });
    expect(await verify(key)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('it is a file; unpack') });
  });

  test('is refused if a file is longer or shorter than the kernel states, for example during a write', () => {
    const path = directory();
    // The kernel states the length 0 for `/proc/version`, which is not empty.
    const mount = `mount --bind /proc/version "$1/input/a.csv" && exec "$0" directory "$1" --public-key "$2" --tenant acme`;
    const within = ['--user', '--map-root-user', '--mount', 'sh', '-c', mount, command, path, key];
    const { status, stderr } = spawnSync('unshare', within, { encoding: 'utf8' });
    expect([status, stderr]).toEqual([1, expect.stringContaining('input/a.csv was changed while it was read')]);
  });
});

describe('an exported directory that was forged together with its manifest', () => {
  const cut = eventLines(job.events.slice(0, -1));
  const edited = eventLines(job.events).replace('hello', 'h3llo');
  const otherReceipt = sealReceipt({ ...job.receipt, exit_code: 1 }).json;
  const stranger = signingKey().publicKeyPem;

  test.each([
    ['events that end early', { [EXPORT_FILES.events]: cut }, ['chain']],
    ['an event that was edited', { [EXPORT_FILES.events]: edited }, ['chain']],
    ['malformed events', { [EXPORT_FILES.events]: 'none' }, ['events']],
    ['another receipt', { [EXPORT_FILES.receipt]: otherReceipt }, ['receipt_file']],
    ['another public key', { [EXPORT_FILES.publicKey]: stranger }, ['public_key_file']],
    ['other code', { code: 'print("evil")' }, ['code']],
    ['other stdin', { stdin: 'IN' }, ['stdin']],
    ['another policy', { 'policy.json': '{}' }, ['policy.json']],
    ['another input', { 'input/a.csv': '3,4\n' }, ['input/a.csv']],
    ['another output', { 'output/b': 'x' }, ['output/b']],
    ['an output that the job did not have', { 'output/c': 'x' }, ['output/c']],
  ])('is refused with %s', async (_what, changes, failed) => {
    expect(await verify(relisted(changes))).toMatchObject({ exitCode: 6, failed });
  });

  test('is refused if its envelope or result was replaced, with the exit code of that file’s check', async () => {
    expect(await verify(relisted({ [EXPORT_FILES.envelope]: '{}' }))).toMatchObject({
      exitCode: 2,
      failed: ['envelope'],
    });
    expect(await verify(relisted({ [EXPORT_FILES.result]: '{}' }))).toMatchObject({
      exitCode: 3,
      failed: ['subject_digest'],
    });
  });

  test('is refused if the manifest names another job or tenant', async () => {
    const manifest = new TextDecoder().decode(exportManifest({ ...job, tenant: 'other' }, job.files));
    expect(await verify(directory({ [EXPORT_MANIFEST]: manifest }))).toMatchObject({
      exitCode: 6,
      failed: ['manifest'],
    });
  });
});
