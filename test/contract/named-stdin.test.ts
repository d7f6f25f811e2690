/** Spec § Outputs as inputs, Inputs-8 to Inputs-10: standard input that is an upload, or an output from another job. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { canonicalJson } from '@vouchbox/evidence';
import type { JobSubmission } from '@vouchbox/protocol';
import { openCredentials } from '@vouchbox/server';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { type Answer, type Rig, useRig } from '../rig/rig.ts';

const rig = useRig({ 'attestation-mode': 'on' });
const host = useRig({ provider: 'subprocess' });

const MIB = 2 ** 20;
const digestOf = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const refusalOf = ({ status, json }: Answer): [number, string] => [status, json.error.code as string];
const given = (stdin: unknown, more: object = {}) => ({ language: 'bash', code: 'cat', stdin, ...more });
const COUNT =
  'import hashlib, sys\nh = hashlib.sha256()\nwhile b := sys.stdin.buffer.read(65536): h.update(b)\nprint(h.hexdigest())';

let made = 0;
/** Runs a job whose output differs from the outputs of all other jobs. */
async function producer() {
  const text = `made ${++made}`;
  const { job_id } = await rig().run({ language: 'bash', code: `printf '${text}' > output/a`, outputs: ['output/a'] });
  return { job_id, text, blob: `sha256:${digestOf(text)}`, from: { job_id, path: 'output/a' } };
}

/** Uploads this many bytes that are not text. */
async function uploaded(bytes: number, to: Rig = rig()) {
  const content = Buffer.alloc(bytes, `\xff\x00${++made} `, 'latin1');
  const { blob } = await to.alpha.client.upload(new Uint8Array(content));
  return { blob, sha256: digestOf(content) };
}

describe('standard input that names a blob or an output', () => {
  test.each([
    ['a cell', rig],
    ['a process of the host', host],
  ])('arrives whole in %s, even with 2 MiB', { tags: ['Inputs-8'] }, async (_kind, to) => {
    const { blob, sha256 } = await uploaded(2 * MIB, to());
    const { result, detail } = await to().run({ language: 'python', code: COUNT, stdin: { blob } } as JobSubmission);
    expect(result).toMatchObject({ status: 'succeeded', stdout: `${sha256}\n` });
    expect(detail.requested_spec).toMatchObject({ stdin: null, named_stdin: { blob } });
    expect(detail.receipt).toMatchObject({ stdin_sha256: sha256, input_artifacts: [] });
  });

  test('may be left unread by its program', { tags: ['Inputs-8'] }, async () => {
    const { blob, sha256 } = await uploaded(2 * MIB);
    const { result, detail } = await rig().run(given({ blob }, { code: 'read -rN 3 x; echo done' }) as JobSubmission);
    expect(result).toMatchObject({ status: 'succeeded', stdout: 'done\n' });
    expect(detail.receipt?.stdin_sha256).toBe(sha256);
  });

  test('may be an output from another job, and the policy’s digest covers that job’s id and that output’s path', {
    tags: ['Inputs-8', 'Inputs-10'],
  }, async () => {
    const { blob, from, text } = await producer();
    for (const stdin of [{ from }, { blob }, { from, blob }]) {
      const { result, detail } = await rig().run(given(stdin) as JobSubmission);
      expect(result.stdout).toBe(text);
      expect(detail.requested_spec.named_stdin).toEqual({ from, blob });
      const { requirements, limits, outputs, runtime } = detail.requested_spec;
      const inputs = [{ path: 'stdin', from }];
      const said = canonicalJson({ requirements, limits, outputs, runtime, allow_network: false, inputs } as never);
      expect(detail.receipt).toMatchObject({ stdin_sha256: digestOf(text), policy_sha256: digestOf(said) });
    }
  });

  test('is refused for the same faults as a named file, and no job is made', {
    tags: ['Inputs-8', 'AUTH-21'],
  }, async () => {
    const { blob, from } = await producer();
    await using operator = await openCredentials({ dataDir: rig().dataDir });
    const named = { tenant: 'alpha', principal: null, scopes: ['jobs:submit'] as const, expires_at: null };
    const submitter = { key: (await operator.create(named)).key };
    const theirs = { key: rig().beta.key };
    const unknown = `sha256:${digestOf('unknown')}`;
    const refused = async (stdin: unknown, options: Parameters<Rig['post']>[1] = {}, more: object = {}) =>
      refusalOf(await rig().post(given(stdin, more), options));
    const before = await rig().jobCount();
    const interactor = { language: 'bash', code: 'true' };
    for (const stdin of [
      {},
      { blob: 'sha256:x' },
      { from: { job_id: from.job_id } },
      { text: 'x' },
      [],
      1,
      { blob, more: 1 },
    ])
      expect([stdin, await refused(stdin)]).toEqual([stdin, [400, 'invalid_request']]);
    expect(await refused({ from: { ...from, path: '/etc/passwd' } })).toEqual([400, 'invalid_request']);
    expect(await refused({ blob }, {}, { interactor })).toEqual([400, 'invalid_request']);
    expect(await refused({ from: { ...from, path: 'output/none' } })).toEqual([422, 'input_unavailable']);
    expect(await refused({ from, blob: unknown })).toEqual([422, 'input_unavailable']);
    expect(await refused({ from }, theirs)).toEqual([422, 'input_unavailable']);
    expect(await refused({ blob }, theirs)).toEqual([422, 'blob_unavailable']);
    expect(await refused({ blob: unknown })).toEqual([422, 'blob_unavailable']);
    expect(await refused({ from }, submitter)).toEqual([403, 'insufficient_scope']);
    expect(await refused({ blob }, submitter)).toEqual([422, 'blob_unavailable']);
    expect(await rig().jobCount()).toBe(before);
  });

  test.each(['text', 'upload', 'output', 'digest'] as const)(
    'may have another form in a repeated submission, under the idempotency key of a job whose stdin was a %s',
    { tags: ['Inputs-9'] },
    async (first) => {
      const { text, blob, from } = await producer();
      const forms = { text, upload: { blob }, output: { from }, digest: { blob } };
      if (first === 'upload') await rig().alpha.client.upload(text);
      const keyed = (stdin: unknown) => rig().post(given(stdin), { headers: { 'idempotency-key': `stdin-${first}` } });
      const answer = await keyed(forms[first]);
      expect(answer.status).toBe(201);
      for (const form of Object.values(forms)) expect((await keyed(form)).json.job_id).toBe(answer.json.job_id);
      expect(refusalOf(await keyed({ from: (await producer()).from }))).toEqual([422, 'idempotency_key_reused']);
      expect(refusalOf(await keyed(null))).toEqual([422, 'idempotency_key_reused']);
    },
  );

  test('that is damaged in the store is never passed to a program as if it were whole', {
    tags: ['Inputs-8'],
  }, async () => {
    const { blob } = await uploaded(MIB);
    const database = new DatabaseSync(join(rig().dataDir, 'svc.db'));
    const { changes } = database
      .prepare(
        `update blob_pieces set content = zeroblob(length(content)) where blob_id = (select blob_id from blobs where sha256 = ?)
         and position = (select max(position) from blob_pieces p where p.blob_id = blob_pieces.blob_id)`,
      )
      .run(blob.slice(7));
    database.close();
    expect(changes).toBe(1);
    for (const code of ['cat > /dev/null; echo all', 'echo none']) {
      const { detail } = await rig().run(given({ blob }, { code }) as JobSubmission);
      expect(detail).toMatchObject({ status: 'error', terminal_reason: 'internal_error' });
    }
  });
});

describe('an export', { tags: ['Inputs-10'] }, () => {
  let scratch: string;
  beforeAll(() => {
    scratch = mkdtempSync(join(tmpdir(), 'svc-stdin-'));
  });
  afterAll(() => rmSync(scratch, { recursive: true }));
  const at = (...parts: string[]) => join(scratch, ...parts);
  const access = () => ['--url', rig().service.url, '--key', rig().alpha.key];
  const verify = (...words: string[]) =>
    serviceVerify([...words, '--public-key', at('pinned.pem'), '--tenant', 'alpha']);

  test('names the job that made a named stdin, and has the stdin’s bytes; a changed byte in either job is found', async () => {
    const { from, text } = await producer();
    const { job_id } = await rig().run(given({ from }) as JobSubmission);
    const keys = ['attestation-keys', 'export', '--output', at('pinned.pem'), '--data-dir', rig().dataDir];
    expect((await vouchbox(keys)).code).toBe(0);
    const { code, stderr } = await vouchbox(['export', job_id, '--with-inputs', ...access(), '--output', 'whole'], {
      cwd: scratch,
    });
    expect([code, stderr]).toEqual([0, expect.stringContaining('stdin')]);
    expect(readFileSync(at('whole', job_id, 'stdin'), 'utf8')).toBe(text);
    const { exitCode, stdout } = await verify('graph', at('whole'));
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining(`stdin ← output/a of ${from.job_id}  succeeded`)]);
    expect((await verify('directory', at('whole', job_id))).exitCode).toBe(0);
    writeFileSync(at('whole', job_id, 'stdin'), text.toUpperCase());
    expect((await verify('graph', at('whole'))).exitCode).not.toBe(0);
    writeFileSync(at('whole', job_id, 'stdin'), text);
    writeFileSync(at('whole', from.job_id, 'output/a'), text.toUpperCase());
    expect((await verify('graph', at('whole'))).exitCode).not.toBe(0);
  });
});
