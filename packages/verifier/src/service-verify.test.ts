import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { attestedJob, line, Scratch, signingKey } from '../test/attested-job.ts';
import { serviceVerify } from './service-verify.ts';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const job = attestedJob({ status: 'failed' });
const stranger = signingKey();
const MEDIA_TYPE = 'application/vnd.svc.execution-result.v1+json';
const good = {
  envelope: scratch.write('envelope', job.attestation.envelope),
  subject: scratch.write('subject', job.attestation.result),
  'public-key': scratch.write('key.pem', job.key.publicKeyPem),
  tenant: job.tenant,
  'subject-name': `svc://jobs/${job.job_id}/result`,
  'media-type': MEDIA_TYPE,
};
const strangerKey = scratch.write('stranger.pem', stranger.publicKeyPem);

function words(options: Readonly<Record<string, string>>): string[] {
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
}

function verify(changes: Readonly<Record<string, string>> = {}, ...more: readonly string[]) {
  return serviceVerify(['verify', ...words({ ...good, ...changes }), ...more]);
}

describe('service-verify verify (Spec § Authentication 10)', () => {
  test('shows each check on a line, the status of the job, and what a success does not prove', {
    tags: ['Authentication-10d', 'Authentication-10e'],
  }, async () => {
    const { exitCode, stdout, stderr } = await verify();
    expect(exitCode).toBe(0);
    expect(stderr).toBe('');
    expect(stdout.match(/^ok {5}\w+ /gm)).toHaveLength(11);
    expect(stdout).toMatch(/^ {7}status +failed$/m);
    expect(stdout).toMatch(/^ {7}exit_code +3$/m);
    expect(stdout).toContain('It does not show that the program succeeded');
  });

  test('shows the same report as one line of JSON', async () => {
    const { exitCode, stdout, stderr } = await verify({}, '--json');
    expect({ exitCode, stderr, lines: stdout.match(/\n/g)?.length }).toEqual({ exitCode: 0, stderr: '', lines: 1 });
    expect(JSON.parse(stdout)).toMatchObject({
      exit_code: 0,
      verdict: 'good',
      facts: { status: 'failed', exit_code: 3, tenant: 'acme', job_id: job.job_id, key_id: job.key.key_id },
      checks: expect.arrayContaining([{ check: 'tenant', good: true, detail: 'acme' }]),
    });
  });

  test('shows the members of the statement and of its receipt, even unknown ones', {
    tags: ['Artifact-14'],
  }, async () => {
    const later = attestedJob({ also: { canary: { age: 3 }, 'a\nb': null } });
    const changes = {
      envelope: scratch.write('later', later.attestation.envelope),
      subject: scratch.write('later-result', later.attestation.result),
    };
    const { exitCode, stdout } = await verify(changes);
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0 });
    expect(stdout).toMatch(/^ {7}salt +(5a){16}$/m);
    expect(stdout).toMatch(/^ {7}tenant_job_number +7$/m);
    expect(stdout).toMatch(/^ {7}also\.canary +\{"age":3\}$/m);
    expect(stdout).not.toMatch(/^b /m);
    const { facts } = JSON.parse((await verify(changes, '--json')).stdout) as { facts: object };
    expect(facts).toMatchObject({ salt: '5a'.repeat(16), tenant_job_number: 7, 'also.canary': '{"age":3}' });
  });

  test('names the failed check on both streams, and shows nothing of the refused statement', async () => {
    const { exitCode, stdout, stderr } = await verify({ tenant: 'other' });
    expect(exitCode).toBe(4);
    expect(stdout).toMatch(/^FAILED tenant +the tenant is not other$/m);
    expect(stdout).not.toMatch(/status|It does not show/);
    expect(stderr).toBe('service-verify: refused at tenant: the tenant is not other\n');
    expect(JSON.parse((await verify({ tenant: 'other' }, '--json')).stdout)).toMatchObject({
      exit_code: 4,
      verdict: 'refused',
      facts: {},
      notice: null,
    });
  });

  test('exits with a different code for each kind of failure', { tags: ['Authentication-10g'] }, async () => {
    const one = scratch.write('one-byte', 'x');
    expect((await verify({ 'public-key': strangerKey })).exitCode).toBe(2);
    expect((await verify({ envelope: one })).exitCode).toBe(2);
    expect((await verify({ 'public-key': one })).exitCode).toBe(2);
    expect((await verify({ subject: one })).exitCode).toBe(3);
    expect((await verify({ 'media-type': 'text/plain' })).exitCode).toBe(4);
    expect((await verify({ 'subject-name': 'svc://jobs/other/result' })).exitCode).toBe(4);
  });

  test('tries every pinned key, and ignores the keyid', { tags: ['Authentication-10'] }, async () => {
    expect((await verify({}, '--public-key', strangerKey)).exitCode).toBe(0);
    expect((await verify({ 'public-key': strangerKey }, '--public-key', good['public-key'])).exitCode).toBe(0);
    const text = new TextDecoder().decode(job.attestation.envelope);
    const envelope = scratch.write('misleading', text.replace(job.key.key_id, stranger.key_id));
    expect((await verify({ envelope })).exitCode).toBe(0);
    expect((await verify({ envelope, 'public-key': strangerKey })).exitCode).toBe(2);
  });

  test('assumes the media type of results if none is given', async () => {
    const { 'media-type': _, ...rest } = good;
    expect((await serviceVerify(['verify', ...words(rest)])).exitCode).toBe(0);
  });

  test('escapes everything in the evidence that a terminal would interpret', async () => {
    const tenant = 'a\u001b[2K\rok\u202e\nstatus succeeded';
    const hostile = attestedJob({ tenant, status: 'failed' });
    const envelope = scratch.write('hostile-envelope', hostile.attestation.envelope);
    const { stdout } = await verify({
      envelope,
      subject: scratch.write('hostile', hostile.attestation.result),
      tenant,
    });
    expect(stdout).toContain('a\\u{1b}[2K\\u{d}ok\\u{202e}\\u{a}status succeeded');
    expect(stdout).not.toMatch(/[^\n\P{Cc}]|\p{Cf}/u);
  });
});

describe('the size limits of service-verify verify (Spec § Limits)', () => {
  const padded = (bytes: Uint8Array, length: number) => {
    const result = new Uint8Array(length).fill(0x20);
    result.set(bytes);
    return result;
  };

  test.each([
    [-1, 0],
    [0, 0],
    [1, 2],
  ])('an envelope of 2 MiB and %i bytes gives exit code %i', async (extra, code) => {
    const envelope = scratch.write('padded', padded(job.attestation.envelope, 2 * 1024 * 1024 + extra));
    expect((await verify({ envelope })).exitCode).toBe(code);
  });

  test('a result of 16 MiB is verified, and a result with one byte more is refused unread', async () => {
    const max = 16 * 1024 * 1024;
    const small = attestedJob({ bodies: [line('stdout', '')] });
    const large = attestedJob({ bodies: [line('stdout', 'x'.repeat(max - small.attestation.result.length))] });
    expect(large.attestation.result.length).toBe(max);
    const envelope = scratch.write('large-envelope', large.attestation.envelope);
    expect((await verify({ envelope, subject: scratch.write('large', large.attestation.result) })).exitCode).toBe(0);
    const over = await verify({ envelope, subject: scratch.write('over', padded(large.attestation.result, max + 1)) });
    expect(over.exitCode).toBe(3);
    expect(over.stderr).toContain('larger than 16 MiB');
  });

  test('a key file of more than 64 KiB is refused', async () => {
    expect((await verify({ 'public-key': scratch.write('huge.pem', 'x'.repeat(64 * 1024 + 1)) })).exitCode).toBe(2);
  });
});

describe('the command line of service-verify', { tags: ['Authentication-10b'] }, () => {
  test.each([
    [[]],
    [['unknown']],
    [['verify']],
    [['verify', '--unknown', 'x']],
    [['chain']],
    [['directory']],
    [['bundle']],
    [['policy']],
  ])('%j is wrong usage', async (given) => {
    const { exitCode, stdout, stderr } = await serviceVerify(given);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).not.toBe('');
  });

  test.each(Object.keys(good).filter((name) => name !== 'media-type'))(
    'a command without --%s is wrong usage',
    { tags: ['Authentication-10c'] },
    async (name) => {
      const rest = Object.fromEntries(Object.entries(good).filter(([other]) => other !== name));
      const { exitCode, stderr } = await serviceVerify(['verify', ...words(rest)]);
      expect({ exitCode, stderr }).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(`--${name}`) });
    },
  );

  test.each(Object.keys(good).filter((name) => name !== 'public-key'))(
    'a command with --%s twice is wrong usage',
    async (name) => {
      const { exitCode, stderr } = await verify({}, `--${name}`, 'again');
      expect({ exitCode, stderr }).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('given twice') });
    },
  );

  test.each(['envelope', 'subject', 'public-key'])(
    'a missing file or a directory as --%s is wrong usage',
    async (name) => {
      for (const path of [join(scratch.path, 'nowhere'), scratch.path]) {
        const { exitCode, stderr } = await verify({ [name]: path });
        expect({ exitCode, stderr }).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(path) });
      }
    },
  );

  test('a command with an extra word is wrong usage', async () => {
    expect(await verify({}, 'surplus')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('too many') });
  });

  test('shows its help and its version', async () => {
    expect(await serviceVerify(['--help'])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('Exit codes'),
    });
    expect(await serviceVerify(['--version'])).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^\d+\./) });
    expect(await serviceVerify(['policy', '--help'])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('isolation>=CLASS'),
    });
  });
});

test('service-verify reads every file once, so the digested bytes are the parsed ones', {
  tags: ['ATT-12'],
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-verify-pipes-'));
  const names = ['envelope', 'subject', 'public-key'] as const;
  const pipes = Object.fromEntries(names.map((name) => [name, join(directory, name)]));
  try {
    // A pipe gives its bytes to the first reader only; a second reader would wait forever.
    execFileSync('mkfifo', Object.values(pipes));
    const writers = names.map((name) => spawn('cp', [good[name], pipes[name] as string]));
    expect((await verify(pipes)).exitCode).toBe(0);
    await Promise.all(writers.map(async (writer) => writer.exitCode ?? (await once(writer, 'exit'))));
  } finally {
    rmSync(directory, { recursive: true });
  }
});
