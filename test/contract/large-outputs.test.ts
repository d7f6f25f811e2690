/** Spec § Large outputs: a program's files and standard output, which a client reads by their digests. */

import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { canonicalJson } from '@vouchbox/evidence';
import type { JobSubmission } from '@vouchbox/protocol';
import { serviceVerify } from '@vouchbox/verifier/command';
import { describe, expect } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { openFaultProxy } from '../rig/fault-proxy.ts';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { type Answer, Rig, useRig } from '../rig/rig.ts';

const rig = useRig();
const signer = useRig({ 'attestation-mode': 'on', provider: 'subprocess' });
const narrow = useRig({ provider: 'subprocess', 'tenant-blobs-mb-max': '3', 'tenant-blobs-max': '1' });

const MIB = 2 ** 20;
/** The exit code of `vouchbox run` if the program succeeded, but an output did not come back. */
const EXIT_FAILED = 1;
const limits = { max_file_mb: 64, mem_mb: 512, wall_seconds: 60 };
const digestOf = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');
const recordOf = (path: string, bytes: Uint8Array | string) => ({
  path,
  size_bytes: Buffer.byteLength(bytes),
  sha256: digestOf(bytes),
});
const refusalOf = ({ status, json }: Answer): [number, string] => [status, json.error.code as string];
const bytesOf = async (sha256: string, to: Rig = rig()) =>
  Buffer.from((await to.alpha.client.download(`sha256:${sha256}`)).bytes);

type Large = NonNullable<JobSubmission['large_outputs']>;

/** A Python program with these large outputs. */
const leaving = (code: string, large_outputs: Large, more: object = {}) =>
  ({
    language: 'python',
    code,
    large_outputs,
    limits,
    ...more,
  }) as JobSubmission;
const write = (path: string, text: string, times = 1) => `open('${path}', 'w').write('${text}' * ${times})\n`;

describe('a large output', () => {
  test('can be read by its digest, and the history, the receipt and the answers have this digest', {
    tags: ['Large-1', 'Large-2'],
  }, async () => {
    const big = 'abcde'.repeat(MIB);
    const paths = ['output/big', 'output/small'];
    const ran = await rig().run(
      leaving(
        write('output/big', 'abcde', MIB) + write('output/small', 's') + write('output/other', 'o'),
        { paths },
        {
          outputs: ['output/**'],
        },
      ),
    );
    const records = [recordOf('output/big', big), recordOf('output/small', 's')];
    const other = recordOf('output/other', 'o');
    expect(ran.result).toMatchObject({ status: 'succeeded', artifacts: [other], violations: [] });
    expect(ran.result.large_outputs).toEqual(records);
    expect(ran.detail.large_outputs).toEqual(records);
    expect(ran.detail.receipt).toMatchObject({ output_artifacts: [other], large_outputs: records });
    expect(ran.events.filter(({ kind }) => kind === 'large_output').map(({ data }) => data)).toEqual(records);
    const asked = { paths, stdout: null, max_bytes: 64 * MIB };
    expect(ran.detail.requested_spec.large_outputs).toEqual(asked);
    const { requirements, limits, outputs, runtime } = ran.detail.requested_spec;
    const policy = { requirements, limits, outputs, runtime, allow_network: false, large_outputs: asked };
    expect(ran.detail.receipt?.policy_sha256).toBe(digestOf(canonicalJson(policy as never)));
    expect((await bytesOf(digestOf(big))).equals(Buffer.from(big))).toBe(true);
    const theirs = await rig().request(`/v1/blobs/sha256/${digestOf(big)}`, { key: rig().beta.key });
    expect(theirs.status).toBe(404);
  });

  test('is a member of answers about a job only if the job asked for it', { tags: ['Large-2'] }, async () => {
    const { detail, result } = await rig().run({ language: 'bash', code: 'echo x > output/a', outputs: ['output/a'] });
    for (const answer of [detail, result, detail.receipt, detail.requested_spec])
      expect(answer).not.toHaveProperty('large_outputs');
  });

  slowTest(
    'may use all the bytes that its job asked for; a file that does not fit is named in a violation',
    {
      tags: ['Large-3'],
    },
    async () => {
      const paths = ['output/a', 'output/b', 'output/c'];
      const code = write('output/a', 'a', 999) + write('output/b', 'b', 2) + write('output/c', 'c');
      const ran = await rig().run(leaving(code, { paths, max_bytes: 1000 }));
      expect(ran.result.large_outputs?.map(({ path }) => path)).toEqual(['output/a', 'output/c']);
      expect(ran.result.violations).toMatchObject([
        { type: 'output_size', path: 'output/b', limit: 1000, observed: 2 },
      ]);
      const whole = await rig().run(leaving(write('output/a', 'a', 64 * MIB), { paths: ['output/a'] }));
      expect(whole.result.large_outputs).toMatchObject([{ size_bytes: 64 * MIB }]);
    },
  );

  test.each<[string, string, string]>([
    ['was not written', '', 'output_missing'],
    ['is a link to the host', "os.symlink('/etc/passwd', 'output/bad')", 'output_path'],
    ['is behind a link', "os.symlink('/etc', 'output/way')", 'output_path'],
    ['is a directory', "os.mkdir('output/bad')", 'output_kind'],
    ['is a named pipe', "os.mkfifo('output/bad')", 'output_kind'],
    [
      'is sparse and larger than all outputs may be',
      `os.truncate(os.open('output/bad', 577), ${64 * MIB})`,
      'output_size',
    ],
  ])(
    'that %s is not returned: a violation names it, and the other outputs are returned',
    { tags: ['Large-3'] },
    async (name, code, type) => {
      const bad = name === 'is behind a link' ? 'output/way/passwd' : 'output/bad';
      const paths = [bad, 'output/good'];
      const ran = await rig().run(
        leaving(`import os\n${write('output/good', 'g')}${code}`, { paths, max_bytes: 32 * MIB }),
      );
      expect(ran.result.violations).toMatchObject([{ type, path: bad }]);
      expect(ran.result.large_outputs).toEqual([recordOf('output/good', 'g')]);
    },
  );

  test.each<[string, Large, object]>([
    ['nothing', {}, {}],
    ['a pattern', { paths: ['output/**'] }, {}],
    ['a path outside output/', { paths: ['input/a'] }, {}],
    ['the same path twice', { paths: ['output/a'], stdout: 'output/a' }, {}],
    ['a path that outputs also names', { paths: ['output/a'] }, { outputs: ['output/a'] }],
    ['no bytes', { paths: ['output/a'], max_bytes: 0 }, {}],
    ['more bytes than a job may have', { paths: ['output/a'], max_bytes: 64 * MIB + 1 }, {}],
    ['more than 32 outputs', { paths: Array.from({ length: 32 }, (_, at) => `output/${at}`), stdout: 'output/s' }, {}],
  ])('is refused if the submission names %s', { tags: ['Large-1', 'Submission-47'] }, async (_, large, more) => {
    const answer = await rig().post(leaving('pass', large, more));
    expect(refusalOf(answer)).toEqual([400, 'invalid_request']);
    expect((await rig().post(leaving('pass', { paths: ['output/a'] }))).status).toBe(201);
  });

  test('can be named by another job, and that job’s receipt has the same digest', { tags: ['Large-5'] }, async () => {
    const first = await rig().run(leaving(write('output/a', 'named', MIB), { paths: ['output/a'] }));
    const from = { job_id: first.detail.job_id, path: 'output/a' };
    const [record] = first.detail.large_outputs ?? [];
    for (const file of [{ from }, { blob: `sha256:${record?.sha256}` }]) {
      const second = await rig().run({
        language: 'bash',
        code: 'sha256sum < input/a',
        files: [{ path: 'input/a', ...file }],
      } as JobSubmission);
      expect(second.result.stdout).toBe(`${record?.sha256}  -\n`);
      expect(second.detail.requested_spec.files).toMatchObject([{ from }]);
      expect(second.detail.receipt?.input_artifacts).toEqual([{ ...record, path: 'input/a' }]);
    }
  });
});

describe('standard output', { tags: ['Large-6'] }, () => {
  const stdout = 'output/stdout';
  const printing = (code: string, more: Large = {}) => leaving(`import sys\n${code}`, { stdout, ...more });

  test.each<[string, string, Buffer]>([
    ['more bytes than are recorded', `sys.stdout.write('0123456789' * 500_000)`, Buffer.alloc(5_000_000, '0123456789')],
    ['more lines than are recorded', `sys.stdout.write('x\\n' * 10_001)`, Buffer.alloc(20_002, 'x\n')],
    ['bytes that are no text', `sys.stdout.buffer.write(b'a\\xf0\\x9f\\x98')`, Buffer.from([97, 0xf0, 0x9f, 0x98])],
  ])('is returned whole: %s', async (_, code, bytes) => {
    const ran = await rig().run(printing(code));
    expect(ran.result.large_outputs).toEqual([recordOf(stdout, bytes)]);
    expect(ran.detail.receipt?.executor_output?.stdout.raw_sha256).toBe(digestOf(bytes));
    expect((await bytesOf(digestOf(bytes))).equals(bytes)).toBe(true);
  });

  test('is stored in the events alone if the events contain all of it', async () => {
    const ran = await rig().run(printing(`sys.stdout.write('é\\n' * 10_000)`));
    expect(ran.result).toMatchObject({ truncated: false, large_outputs: [], violations: [] });
  });

  test('is kept by Python until a flush or the end of the program, also by a Python that the program starts', {
    tags: ['Large-7'],
  }, async () => {
    const inner = 'import os; print(1); os.write(1, b"2,")';
    const code = `import os, subprocess\nprint('a')\nsubprocess.run(['python3', '-c', '''${inner}'''])\nos.write(1, b'b,')`;
    const [kept, sent] = [await rig().run(printing(code)), await rig().run(leaving(code, { paths: ['output/a'] }))];
    expect([kept.result.stdout, sent.result.stdout]).toEqual(['2,1\nb,a\n', 'a\n1\n2,b,']);
  });

  test('larger than max_bytes is not stored at all, and a violation names it', async () => {
    const ran = await rig().run(printing(`sys.stdout.write('x' * ${2 * MIB + 1})`, { max_bytes: 2 * MIB }));
    expect(ran.result.large_outputs).toEqual([]);
    expect(ran.result.violations).toMatchObject([
      { type: 'output_size', path: stdout, limit: 2 * MIB, observed: 2 * MIB + 1 },
    ]);
  });

  slowTest(
    'is stored even if the program is killed, and counts towards max_bytes together with the files',
    async () => {
      const code = `sys.stdout.write('x' * ${3 * MIB}); sys.stdout.flush()\n${write('output/a', 'a', 2)}while True: pass`;
      const ran = await rig().run(
        leaving(
          `import sys\n${code}`,
          { stdout, paths: ['output/a'], max_bytes: 3 * MIB + 1 },
          {
            limits: { cpu_seconds: 1 },
          },
        ),
      );
      expect(ran.result).toMatchObject({ status: 'timed_out', large_outputs: [{ path: stdout, size_bytes: 3 * MIB }] });
      expect(ran.result.violations).toMatchObject([{ type: 'cpu_time' }, { type: 'output_size', path: 'output/a' }]);
    },
  );
});

slowTest(
  'an export contains large outputs, and every verifier checks them and the edges to other jobs',
  {
    tags: ['Large-2', 'Large-5'],
  },
  async () => {
    const scratch = mkdtempSync(join(tmpdir(), 'svc-large-'));
    const signing = signer();
    const large = '\0'.repeat(5 * MIB);
    const asked = { paths: ['output/a'], stdout: 'output/s' };
    const code = `head -c ${5 * MIB} /dev/zero > output/a; printf '\\377'`;
    const made = await signing.run({ language: 'bash', code, large_outputs: asked, limits } as JobSubmission);
    const files = [{ path: 'input/a', from: { job_id: made.detail.job_id, path: 'output/a' } }];
    const { detail } = await signing.run({ language: 'bash', code: 'true', files });
    const words = [
      'attestation-keys',
      'export',
      '--output',
      join(scratch, 'pinned.pem'),
      '--data-dir',
      signing.dataDir,
    ];
    expect((await vouchbox(words)).code).toBe(0);
    const access = ['--url', signing.service.url, '--key', signing.alpha.key];
    const exported = ['export', detail.job_id, '--with-inputs', '--output', 'graph', ...access];
    expect((await vouchbox(exported, { cwd: scratch })).code).toBe(0);
    const ofMade = join(scratch, 'graph', made.detail.job_id);
    const verified = async (what: string, directory: string) =>
      await serviceVerify([...[what, directory, '--public-key', join(scratch, 'pinned.pem'), '--tenant', 'alpha']]);
    expect((await verified('graph', join(scratch, 'graph'))).exitCode).toBe(0);
    expect(readFileSync(join(ofMade, 'output/a'), 'utf8')).toBe(large);
    const whole = await verified('directory', ofMade);
    expect([whole.exitCode, whole.stdout]).toEqual([0, expect.stringContaining('output/s')]);
    writeFileSync(join(ofMade, 'output/s'), 'other');
    expect((await verified('graph', join(scratch, 'graph'))).exitCode).not.toBe(0);
    rmSync(scratch, { recursive: true });
  },
);

test('vouchbox run downloads large outputs, and names those that the program did not write', {
  tags: ['Large-5'],
}, async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-large-'));
  writeFileSync(join(scratch, 'make.sh'), `head -c ${3 * MIB} /dev/zero > output/a`);
  const access = ['--url', rig().service.url, '--key', rig().alpha.key];
  const wanted = ['--large-output', 'output/a=got/a', '--large-output', 'output/b'];
  const { code, stderr } = await vouchbox(['run', 'make.sh', ...wanted, ...access], { cwd: scratch });
  expect([code, stderr]).toEqual([EXIT_FAILED, expect.stringContaining('output/b')]);
  expect(readFileSync(join(scratch, 'got/a')).equals(Buffer.alloc(3 * MIB))).toBe(true);
  expect(existsSync(join(scratch, 'output/b'))).toBe(false);
  rmSync(scratch, { recursive: true });
});

slowTest('vouchbox run downloads a large output again if the service is lost during the download', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-large-'));
  const bytes = Buffer.alloc(3 * MIB);
  writeFileSync(join(scratch, 'make.sh'), `head -c ${bytes.length} /dev/zero > output/a`);
  const on = `GET /v1/blobs/sha256/${digestOf(bytes)}`;
  await using proxy = await openFaultProxy(rig().service.url, [
    { on, fault: 'truncate_answer' },
    { on, count: 6, fault: 'cut_request' },
  ]);
  const access = ['--url', proxy.url, '--key', rig().alpha.key];
  const words = ['run', 'make.sh', '--large-output', 'output/a=got/a', ...access];
  expect(await vouchbox(words, { cwd: scratch })).toMatchObject({ code: 0, stderr: '' });
  expect(readFileSync(join(scratch, 'got/a')).equals(bytes)).toBe(true);
  rmSync(scratch, { recursive: true });
});

slowTest.each([
  ['text', "printf 'a\\n'", Buffer.from('a\n')],
  ['bytes', "printf '\\377'", Buffer.from([255])],
  ['more than is recorded', `head -c ${2 * MIB} /dev/zero`, Buffer.alloc(2 * MIB)],
])('vouchbox run writes all of standard output to a file: %s', async (_what, code, bytes) => {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-large-'));
  writeFileSync(join(scratch, 'make.sh'), code);
  const words = ['run', 'make.sh', '--whole-stdout', 'got/all', '--json'];
  const access = ['--url', rig().service.url, '--key', rig().alpha.key];
  const { code: exit, stdout } = await vouchbox([...words, ...access], { cwd: scratch });
  expect(exit).toBe(0);
  expect(readFileSync(join(scratch, 'got/all')).equals(bytes)).toBe(true);
  const written = { path: 'output/stdout', file: 'got/all', size_bytes: bytes.length, sha256: digestOf(bytes) };
  expect(JSON.parse(stdout).outputs).toEqual([written]);
  rmSync(scratch, { recursive: true });
});

test('room for large outputs is reserved until the job ends; after that, only its real outputs count', {
  tags: ['Large-4'],
}, async () => {
  const submit = (code: string, max_bytes: number, options: Parameters<Rig['post']>[1] = {}) =>
    narrow().post({ language: 'bash', code, large_outputs: { paths: ['output/a'], max_bytes } }, options);
  const idOf = async (answer: Promise<Answer>) => (await answer).json.job_id as string;
  const full = [429, 'tenant_capacity_exhausted'];
  const waits = await idOf(submit('head -c 1048576 /dev/zero > output/a; sleep 300', 2 * MIB));
  const refused = await submit('true', MIB + 1);
  expect(refusalOf(refused)).toEqual(full);
  expect(refused.headers.get('retry-after')).not.toBeNull();
  const upload = async (bytes: number) => {
    const body = new Uint8Array(bytes);
    const address = `/v1/blobs/sha256/${digestOf(body)}`;
    const headers = { 'content-type': 'application/octet-stream' };
    return (await narrow().request(address, { method: 'PUT', body, headers })).status;
  };
  expect(await upload(MIB + 1)).toBe(429);
  await narrow().alpha.client.cancel(waits);
  const { large_outputs: [left] = [] } = await narrow().alpha.client.waitForResult(waits);
  const room = 3 * MIB - (left?.size_bytes ?? 0);
  const headers = { 'idempotency-key': 'once' };
  const next = await idOf(submit('printf x > output/a', room, { headers }));
  await narrow().ended(next);
  // The output counts towards the tenant's bytes, but is no upload: the tenant may have one, and the upload below is accepted.
  expect(refusalOf(await submit('true', room))).toEqual(full);
  expect(await upload(7)).toBe(201);
});

slowTest(
  'a large output is stored as long as its own job, or a job that names the output, is stored',
  {
    tags: ['Large-5'],
  },
  async () => {
    const settings = { provider: 'subprocess', concurrency: '1', 'drain-seconds': '0' };
    const first = await Rig.start(settings);
    const asked = { paths: ['output/a'], max_bytes: 10 };
    const made = (text: string) =>
      first.run({ language: 'bash', code: `printf ${text} > output/a`, large_outputs: asked } as JobSubmission);
    const [gone, kept] = [await made('gone'), await made('kept')];
    const blocker = { language: 'bash', code: 'sleep 300', limits: { wall_seconds: 300 } } as const;
    for (let times = 0; times < 2; times++) await first.alpha.client.submit(blocker);
    const runningIn = async ({ alpha }: Rig) =>
      (await alpha.client.list({ status: ['running'] })).items[0]?.job_id ?? '';
    // The first blocker ends with its service only if it runs by then.
    await expect.poll(() => runningIn(first)).not.toBe('');
    const files = [{ path: 'input/a', from: { job_id: gone.detail.job_id, path: 'output/a' } }];
    const waiting = (await first.post({ language: 'bash', code: 'cat input/a', files })).json.job_id as string;
    expect(await first.stop('kept')).toEqual([]);
    const database = new DatabaseSync(join(first.dataDir, 'svc.db'));
    const old = '2020-01-01T00:00:00.000Z';
    database.prepare('update jobs set finished_at = ? where job_id = ?').run(old, gone.detail.job_id);
    // Makes it look as if all blobs were last used long ago.
    database.exec(`update blobs set used_at = '${old}'`);
    database.close();

    const second = await Rig.start({ ...settings, 'retention-days': '100' }, first.dataDir);
    try {
      const statusOf = async (path: string) => (await second.request(path)).status;
      await expect.poll(() => statusOf(`/v1/jobs/${gone.detail.job_id}`), { timeout: 10_000 }).toBe(404);
      expect(await statusOf(`/v1/blobs/sha256/${digestOf('gone')}`)).toBe(404);
      expect(await statusOf(`/v1/blobs/sha256/${digestOf('kept')}`)).toBe(200);
      expect((await second.alpha.client.detail(kept.detail.job_id)).large_outputs).toHaveLength(1);
      await expect.poll(() => runningIn(second)).not.toBe('');
      await second.alpha.client.cancel(await runningIn(second));
      expect((await second.ended(waiting)).result.stdout).toBe('gone');
    } finally {
      expect(await second.stop()).toEqual([]);
    }
  },
);
