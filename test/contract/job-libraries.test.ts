/** Spec § Libraries: the archive of libraries that a job brings along. Only the job's cell unpacks it. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256Hex } from '@vouchbox/evidence';
import { LIBRARIES_FILE } from '@vouchbox/protocol';
import { serviceVerify } from '@vouchbox/verifier/command';
import { describe, expect, onTestFinished } from 'vitest';
import { archiveOf, changed } from '../../packages/server/src/sandbox/cell/archive.fixture.ts';
import { vouchbox } from '../rig/command.ts';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { type Answer, type Tenant, useRig } from '../rig/rig.ts';

const rig = useRig({ 'attestation-mode': 'on' });

const PYTHON = archiveOf([
  { name: 'tiny/__init__.py', content: 'class Point:\n    def __init__(self, x): self.x = x\nNAME = "tiny"\n' },
]);
const NODE = archiveOf([
  { name: 'tiny/package.json', content: '{"exports":"./main.js"}' },
  { name: 'tiny/main.js', content: 'exports.name = "tiny";' },
]);
const IMPORTS = { language: 'python', code: 'import tiny; print(tiny.NAME)' };
const blobOf = (bytes: Uint8Array) => ({ blob: `sha256:${sha256Hex(bytes)}` });
const uploaded = async (bytes: Uint8Array<ArrayBuffer>, { client }: Tenant = rig().alpha) => ({
  blob: (await client.upload(bytes)).blob,
});
const codeOf = ({ status, json }: Answer): [number, string] => [status, json.error.code as string];
const messageOf = ({ json }: Answer): string => json.error.message as string;

describe.each(['namespace', 'gvisor'])('in the class of %s', (provider) => {
  const own = useRig({ provider });
  const given = async (bytes: Uint8Array<ArrayBuffer>) => await uploaded(bytes, own().alpha);

  test('a program has its libraries, and the receipt has the libraries’ digest', {
    tags: ['Libraries-1', 'Libraries-2'],
  }, async () => {
    const { result, detail } = await own().run({ ...IMPORTS, libraries: await given(PYTHON) });
    expect(result.stdout).toBe('tiny\n');
    expect(detail.requested_spec.files).toEqual([{ path: LIBRARIES_FILE, ...blobOf(PYTHON) }]);
    expect(detail.receipt?.input_artifacts).toEqual([
      { path: LIBRARIES_FILE, size_bytes: PYTHON.length, sha256: sha256Hex(PYTHON) },
    ]);
  });

  test('a program in JavaScript or TypeScript has its libraries', {
    tags: ['Submission-49a'],
  }, async () => {
    const libraries = await given(NODE);
    const code = 'import { name } from "tiny"; console.log(name);';
    for (const language of ['node', 'typescript']) {
      expect((await own().run({ language, code, libraries })).result.stdout).toBe('tiny\n');
    }
  });

  slowTest(
    'each job has only its own libraries, however quickly jobs follow each other',
    {
      tags: ['Libraries-4'],
    },
    async () => {
      const libraries = await given(PYTHON);
      const without = { language: 'python', code: 'try:\n    import tiny\nexcept ImportError: print("none")' };
      const jobs = Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? { ...IMPORTS, libraries } : without));
      const ends = await Promise.all(jobs.map((job) => own().run(job)));
      expect(ends.map(({ result }) => result.stdout)).toEqual(jobs.map((_, n) => (n % 2 === 0 ? 'tiny\n' : 'none\n')));
    },
  );

  slowTest(
    'a session’s steps may have libraries, and the session keeps objects whose classes come from them',
    {
      tags: ['Libraries-3'],
    },
    async () => {
      const libraries = await given(PYTHON);
      const session = await own().alpha.client.session('with-libraries', { language: 'python' });
      const step = (code: string, more: object) => session.run({ language: 'python', code, ...more });
      await step('import tiny; point = tiny.Point(3)', { libraries });
      expect((await step('print(point.x, tiny.NAME)', { libraries })).stdout).toBe('3 tiny\n');
      const without = await step('print(point.x)', {});
      expect([without.moved, without.stderr]).toEqual([false, expect.stringContaining("No module named 'tiny'")]);
      const modules = await own().alpha.client.session('with-modules', { language: 'node' });
      const first = await modules.run({
        ...{ language: 'node', libraries: await given(NODE) },
        code: 'require("fs").writeFileSync("a", require("tiny").name);',
      });
      expect([first.moved, first.kept?.files]).toEqual([true, 2]);
      const next = await modules.run('console.log(require("fs").readdirSync(".").join());');
      expect(next.stdout).toBe('a,input,main.cjs,output\n');
    },
  );

  test('a session that has its own node_modules refuses a step with libraries, and goes on with a step without any', {
    tags: ['Libraries-4a'],
  }, async () => {
    const session = await own().alpha.client.session('with-own-modules', { language: 'node' });
    const made = await session.run(
      'const fs = require("fs"); fs.mkdirSync("node_modules/own", { recursive: true }); fs.writeFileSync("node_modules/own/index.js", "exports.name = 1;");',
    );
    expect(made.moved).toBe(true);
    const step = { language: 'node', code: 'console.log(require("own").name)' };
    const refused = await session.run({ ...step, libraries: await given(NODE) });
    expect([refused.moved, refused.exit_code, refused.stdout]).toEqual([false, 1, '']);
    expect(refused.stderr).toBe(
      'The state of the session cannot be loaded: Error: it has a node_modules, and this step has libraries: run it without, or remove that in a step without libraries\n',
    );
    expect((await session.run(step)).stdout).toBe('1\n');
  });

  test("a library with a Python module's name does not run before a session's step imports it", {
    tags: ['Libraries-4'],
  }, async () => {
    const ran = 'import sys; sys.stdout.write("ran first\\n")\n';
    const names = ['pickle.py', 'io.py', 'atexit.py'];
    const libraries = await given(archiveOf(names.map((name) => ({ name, content: ran }))));
    const session = await own().alpha.client.session('with-names-of-modules', { language: 'python' });
    const { moved, stdout } = await session.run({ language: 'python', code: 'a = 1; print("ran")', libraries });
    expect([moved, stdout]).toEqual([true, 'ran\n']);
  });

  test('a program does not begin if its libraries would leave their directory', { tags: ['Libraries-6'] }, async () => {
    const bad = archiveOf([{ name: '../work/output/a', content: 'b' }]);
    const { result, detail } = await own().run({ ...IMPORTS, libraries: await given(bad), outputs: ['output/**'] });
    expect(result).toMatchObject({ stdout: '', exit_code: 1, artifacts: [] });
    expect(result.stderr).toBe(
      "The libraries cannot be unpacked: '../work/output/a' is not below the archive's root\n",
    );
    expect(detail.status).toBe('failed');
  });

  slowTest(
    'a program does not begin if its libraries are damaged, cut off or empty',
    {
      tags: ['Libraries-6'],
    },
    async () => {
      for (const bad of [changed(PYTHON, -8), PYTHON.subarray(0, -8), archiveOf([]), Buffer.alloc(0)])
        for (const language of ['python', 'node']) {
          const { result } = await own().run({ language, code: 'print("ran")', libraries: await given(bad) });
          expect(result).toMatchObject({ stdout: '', exit_code: 1 });
          expect(result.stderr).toMatch(/^The libraries cannot be unpacked: .+\n$/);
        }
    },
  );
});

test('an archive that fills its cell’s memory ends its own job and leaves other jobs running', {
  tags: ['Libraries-3'],
}, async () => {
  const content = Buffer.alloc(15 * 2 ** 20);
  const bomb = archiveOf(Array.from({ length: 10 }, (_, n) => ({ name: `f${n}`, content })));
  const limits = { mem_mb: 64, wall_seconds: 60, cpu_seconds: 60 };
  const [{ detail }, beside] = await Promise.all([
    rig().run({ ...IMPORTS, libraries: await uploaded(bomb), limits }),
    rig().run({ language: 'python', code: 'print(1)' }),
  ]);
  expect([detail.status, detail.terminal_reason, beside.result.stdout]).toEqual(['oom_killed', 'memory_limit', '1\n']);
});

test.each([
  ['bash', [400, 'invalid_request'], 'a program in bash takes none'],
  ['python', [422, 'blob_unavailable'], 'is not a blob of the tenant'],
] as const)(
  'libraries for %s are refused with %j: %s',
  { tags: ['Libraries-1', 'Libraries-2'] },
  async (language, refused, problem) => {
    const before = await rig().jobCount();
    const answer = await rig().post({ language, code: 'a', libraries: blobOf(Buffer.from(language)) });
    expect(codeOf(answer)).toEqual(refused);
    expect(messageOf(answer)).toMatch(new RegExp(`^/libraries(/blob)? .*${problem}`));
    expect(await rig().jobCount()).toBe(before);
  },
);

test('another tenant’s archive is refused like an unknown blob', { tags: ['Libraries-2'] }, async () => {
  const libraries = await uploaded(archiveOf([{ name: 'of-beta.py' }]), rig().beta);
  expect(codeOf(await rig().post({ ...IMPORTS, libraries }))).toEqual([422, 'blob_unavailable']);
});

test.each([
  ['build', { language: 'python', build: {} }],
  ['interactor', { language: 'python', interactor: { language: 'python', code: 'b' } }],
])('libraries cannot be submitted with %s', { tags: ['Libraries-1'] }, async (member, more) => {
  const answer = await rig().post({ code: 'a', ...more, libraries: await uploaded(PYTHON) });
  expect(codeOf(answer)).toEqual([400, 'invalid_request']);
  expect(messageOf(answer)).toContain(`/${member} must be left out of a job with libraries`);
});

test.each([LIBRARIES_FILE, `${LIBRARIES_FILE}/a`])(
  'a submission with libraries and a file at %s is refused',
  { tags: ['Libraries-2'] },
  async (path) => {
    const answer = await rig().post({ ...IMPORTS, files: [{ path, content_base64: '' }] });
    expect(codeOf(answer)).toEqual([400, 'invalid_request']);
    expect(messageOf(answer)).toContain('/files/0/path');
  },
);

test.each([1, 'a', null, {}, { blob: 'a' }, { blob: blobOf(PYTHON).blob, more: 1 }])(
  '%j is refused as libraries',
  async (libraries) => {
    expect(codeOf(await rig().post({ ...IMPORTS, libraries }))).toEqual([400, 'invalid_request']);
  },
);

test('client.run accepts the answer from client.upload as its libraries', async () => {
  const { client } = rig().alpha;
  const { stdout } = await client.run(IMPORTS.code, { libraries: await client.upload(PYTHON) });
  expect(stdout).toBe('tiny\n');
});

test('a submission under a used idempotency key is refused if it has other libraries', async () => {
  const send = (body: object, key: string) => rig().post(body, { headers: { 'idempotency-key': key } });
  const libraries = await uploaded(PYTHON);
  await send({ ...IMPORTS, libraries }, 'with');
  expect((await send({ ...IMPORTS, libraries }, 'with')).headers.get('idempotency-replayed')).toBe('true');
  expect((await send(IMPORTS, 'with')).json.error.code).toBe('idempotency_key_reused');
  expect((await send({ ...IMPORTS, libraries: await uploaded(NODE) }, 'with')).json.error.code).toBe(
    'idempotency_key_reused',
  );
});

test('libraries and other files may have 64 MiB in total, and the capabilities state the limits on libraries', {
  tags: ['Libraries-7'],
}, async () => {
  const { client } = rig().alpha;
  expect((await client.capabilities()).libraries).toEqual({
    ...{ max_packed_bytes: 64 * 2 ** 20, max_bytes: 512 * 2 ** 20, max_entries: 50_000 },
  });
  const { blob } = await client.upload(new Uint8Array(64 * 2 ** 20 - PYTHON.length + 1));
  const answer = await rig().post({
    ...IMPORTS,
    libraries: await uploaded(PYTHON),
    files: [{ path: 'input/a', blob }],
  });
  expect(codeOf(answer)).toEqual([413, 'payload_too_large']);
});

test('an export contains its job’s libraries, and is verified without the service', {
  tags: ['Libraries-2'],
}, async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-libraries-'));
  onTestFinished(() => rmSync(scratch, { recursive: true }));
  const { job_id } = await rig().run({ ...IMPORTS, libraries: await uploaded(PYTHON) });
  const access = ['--url', rig().service.url, '--key', rig().alpha.key];
  const exported = await vouchbox(['export', job_id, ...access], { cwd: scratch });
  expect(exported).toMatchObject({ code: 0, stdout: `${job_id}\n` });
  expect(readFileSync(join(scratch, job_id, LIBRARIES_FILE))).toEqual(PYTHON);
  const pinned = join(scratch, 'pinned.pem');
  expect(await vouchbox(['attestation-keys', 'export', '--output', pinned, '--data-dir', rig().dataDir])).toMatchObject(
    { code: 0 },
  );
  const words = ['directory', join(scratch, job_id), '--public-key', pinned, '--tenant', 'alpha'];
  expect(await serviceVerify(words)).toMatchObject({ exitCode: 0 });
});
