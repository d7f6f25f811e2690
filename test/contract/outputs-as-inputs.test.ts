/** Spec § Outputs as inputs: a submission's files that are outputs from other jobs. */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { JobSubmission } from '@vouchbox/protocol';
import { openCredentials } from '@vouchbox/server';
import { describe, expect } from 'vitest';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { type Answer, Rig, useRig } from '../rig/rig.ts';

const rig = useRig();
const few = useRig({ provider: 'subprocess', 'tenant-blobs-max': '1', concurrency: '1', 'drain-seconds': '0' });

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
const refusalOf = ({ status, json }: Answer): [number, string] => [status, json.error.code as string];
const reader = (file: object) => ({ language: 'bash', code: 'cat input/a', files: [file] });
const from = (job_id: string, path = 'output/a') => ({ path: 'input/a', from: { job_id, path } });

let made = 0;
/** Runs a job whose output differs from the outputs of all other jobs. */
async function producer(to: Rig = rig(), text = `made ${++made}`) {
  const code = `printf '${text}' > output/a; printf other > output/b`;
  const { job_id } = await to.run({ language: 'bash', code, outputs: ['output/**'] });
  return { job_id, text, blob: `sha256:${digestOf(text)}` };
}

async function refused(file: object, options: Parameters<Rig['post']>[1] = {}): Promise<readonly [number, string]> {
  const before = await rig().jobCount();
  const answer = await rig().post(reader(file), options);
  expect(await rig().jobCount()).toBe(before);
  return refusalOf(answer);
}

describe('an output that a submission names', () => {
  test('is read by the program, and both receipts have its digest', {
    tags: ['Inputs-1', 'Inputs-7', 'Submission-5'],
  }, async () => {
    const { job_id, text, blob } = await producer();
    const ran = await rig().run(reader(from(job_id)) as JobSubmission);
    expect(ran.result).toMatchObject({ status: 'succeeded', stdout: text });
    expect(ran.detail.requested_spec.files).toEqual([{ ...from(job_id), blob }]);
    const record = { size_bytes: text.length, sha256: digestOf(text) };
    expect(ran.detail.receipt?.input_artifacts).toEqual([{ path: 'input/a', ...record }]);
    const { receipt } = await rig().alpha.client.detail(job_id);
    expect(receipt?.output_artifacts).toContainEqual({ path: 'output/a', ...record });
    const { language: _, code: __, ...policy } = ran.detail.requested_spec as Record<string, unknown>;
    const { requirements, limits, outputs, runtime } = policy;
    const { canonicalJson } = await import('@vouchbox/evidence');
    const inputs = [from(job_id)];
    const said = canonicalJson({ requirements, limits, outputs, runtime, allow_network: false, inputs } as never);
    expect(ran.detail.receipt?.policy_sha256).toBe(digestOf(said));
  });

  test('can be named by its digest alone, and the detail then names its job', { tags: ['Inputs-3'] }, async () => {
    const { job_id, text, blob } = await producer();
    const ran = await rig().run(reader({ path: 'input/a', blob }) as JobSubmission);
    expect(ran.result.stdout).toBe(text);
    expect(ran.detail.requested_spec.files).toEqual([{ ...from(job_id), blob }]);
    await rig().alpha.client.upload(text);
    const again = await rig().run(reader({ path: 'input/a', blob }) as JobSubmission);
    expect(again.detail.requested_spec.files).toEqual([{ path: 'input/a', blob }]);
  });

  test("is refused unless one of the tenant's jobs has ended and has this output", { tags: ['Inputs-2'] }, async () => {
    const { job_id, blob } = await producer();
    const { client } = rig().alpha;
    const running = await client.submit({
      language: 'bash',
      code: 'printf x > output/a; sleep 300',
      outputs: ['output/a'],
    });
    const unavailable = [422, 'input_unavailable'];
    expect(await refused(from(running.job_id))).toEqual(unavailable);
    await client.cancel(running.job_id);
    // An output from a cancelled job can also be named.
    const [left] = (await client.waitForResult(running.job_id)).artifacts;
    const afterwards = await rig().post(reader(from(running.job_id)));
    expect(afterwards.status).toBe(left === undefined ? 422 : 201);
    for (const file of [
      from('job_none'),
      from(job_id, 'output/none'),
      { ...from(job_id), blob: `sha256:${digestOf('')}` },
    ])
      expect(await refused(file)).toEqual(unavailable);
    const theirs = { key: rig().beta.key };
    expect(await refused(from(job_id), theirs)).toEqual(unavailable);
    expect(await refused({ path: 'input/a', blob }, theirs)).toEqual([422, 'blob_unavailable']);
  });

  test('is refused with a path that no output can have, or with a malformed reference', {
    tags: ['Inputs-2'],
  }, async () => {
    const { job_id } = await producer();
    const invalid = [400, 'invalid_request'];
    for (const path of [
      'output/../a',
      '/etc/passwd',
      'input/a',
      'output/**',
      'output/a\0',
      'output//a',
      '../output/a',
      '',
    ])
      expect([path, await refused(from(job_id, path))]).toEqual([
        path,
        path === 'output/**' ? [422, 'input_unavailable'] : invalid,
      ]);
    for (const id of ['', 'a\0b', 'x'.repeat(129), 'é']) expect(await refused(from(id))).toEqual(invalid);
    expect(await refused({ ...from(job_id), content_base64: '' })).toEqual(invalid);
    expect(await refused({ path: 'input/a', from: { job_id } })).toEqual(invalid);
    expect(await refused({ ...from(job_id), path: 'input/../a' })).toEqual(invalid);
  });

  test('must be an output: the digest of code, stdin, an input file or a receipt is refused', {
    tags: ['Inputs-3', 'AUTH-21'],
  }, async () => {
    const [code, stdin, sent] = [`cat # ${++made}`, `stdin ${++made}`, `sent ${++made}`];
    const files = [{ path: 'input/a', content_base64: Buffer.from(sent).toString('base64') }];
    const { detail } = await rig().run({ language: 'bash', code, stdin, files });
    const receipt = detail.receipt?.receipt_sha256 ?? '';
    for (const sha256 of [...[code, stdin, sent].map(digestOf), receipt])
      expect(await refused({ path: 'input/a', blob: `sha256:${sha256}` })).toEqual([422, 'blob_unavailable']);
  });

  test('is refused for a key that may not read jobs', { tags: ['Inputs-4'] }, async () => {
    const { job_id, blob, text } = await producer();
    await using operator = await openCredentials({ dataDir: rig().dataDir });
    const issued = await operator.create({
      tenant: 'alpha',
      principal: null,
      scopes: ['jobs:submit'],
      expires_at: null,
    });
    const submitter = { key: issued.key };
    expect(await refused(from(job_id), submitter)).toEqual([403, 'insufficient_scope']);
    expect(await refused({ path: 'input/a', blob }, submitter)).toEqual([422, 'blob_unavailable']);
    await rig().alpha.client.upload(text);
    expect((await rig().post(reader({ path: 'input/a', blob }), submitter)).status).toBe(201);
  });

  test('is refused in the same words if it is unknown, or is from another tenant’s job or a job that the key may not read', {
    tags: ['AUTH-21', 'Inputs-2', 'Inputs-4'],
  }, async () => {
    const { job_id, blob } = await producer();
    await using operator = await openCredentials({ dataDir: rig().dataDir });
    const named = { tenant: 'alpha', principal: null, scopes: ['jobs:submit'] as const, expires_at: null };
    const { key } = await operator.create(named);
    const nobody = job_id.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    const unknown = `sha256:${digestOf('unknown')}`;
    const told = async (file: object, asker: string) => {
      const { status, json } = await rig().post(reader(file), { key: asker });
      return [status, json.error.code as string, json.error.message as string];
    };
    for (const asker of [rig().beta.key, key]) {
      expect(await told(from(job_id), asker)).toEqual(await told(from(nobody), asker));
      const [ours, none] = [
        await told({ path: 'input/a', blob }, asker),
        await told({ path: 'input/a', blob: unknown }, asker),
      ];
      expect(ours).toEqual(none);
    }
  });

  test("counts towards the tenant's limit on blobs while a job needs it", { tags: ['Inputs-5'] }, async () => {
    const [one, other] = [await producer(few()), await producer(few())];
    const waits = { language: 'bash', code: 'cat input/a; sleep 300' };
    const first = await few().post({ ...waits, files: [from(one.job_id)] });
    expect(first.status).toBe(201);
    const more = await few().post({ ...waits, files: [from(other.job_id)] });
    expect(refusalOf(more)).toEqual([429, 'tenant_capacity_exhausted']);
    expect(more.headers.get('retry-after')).not.toBeNull();
    expect((await few().post({ ...waits, files: [from(one.job_id)] })).status).toBe(201);
  });

  slowTest('is refused if all named outputs together are too large', { tags: ['Limits-4a'] }, async () => {
    const { job_id, text } = await producer();
    const { blob } = await rig().alpha.client.upload(new Uint8Array(64 * 2 ** 20 - text.length + 1));
    const files = [from(job_id), { path: 'input/b', blob }];
    expect(refusalOf(await rig().post({ language: 'bash', code: 'true', files }))).toEqual([413, 'payload_too_large']);
  });
});

describe('an idempotency key', { tags: ['Inputs-6'] }, () => {
  const keyed = (file: object, key: string, to: Rig = rig()) =>
    to.post(reader(file), { headers: { 'idempotency-key': key } });
  const replayed = ({ status, headers }: Answer) => [status, headers.get('idempotency-replayed')];

  test.each(['output', 'digest', 'inline', 'upload'] as const)(
    'that was used with a file given by %s stands for the file’s content',
    async (first) => {
      const { job_id, text, blob } = await producer();
      const forms = {
        output: from(job_id),
        digest: { path: 'input/a', blob },
        inline: { path: 'input/a', content_base64: Buffer.from(text).toString('base64') },
        upload: { path: 'input/a', blob },
      };
      if (first === 'upload') await rig().alpha.client.upload(text);
      const answer = await keyed(forms[first], `by-${first}`);
      for (const form of Object.values(forms))
        expect(replayed(await keyed(form, `by-${first}`))).toEqual([201, 'true']);
      await rig().alpha.client.upload(text);
      expect((await keyed(forms.upload, `by-${first}`)).json.job_id).toBe(answer.json.job_id);
      const other = await producer();
      expect(refusalOf(await keyed(from(other.job_id), `by-${first}`))).toEqual([422, 'idempotency_key_reused']);
    },
  );
});

slowTest(
  'an output stays stored for a waiting job after its own job is removed; new jobs cannot name it',
  {
    tags: ['Inputs-5', 'Inputs-6'],
  },
  async () => {
    const settings = { provider: 'subprocess', concurrency: '1', 'drain-seconds': '0' };
    const first = await Rig.start(settings);
    const { job_id, text, blob } = await producer(first);
    const blocker = { language: 'bash', code: 'sleep 300', limits: { wall_seconds: 300 } } as const;
    for (let times = 0; times < 2; times++) await first.alpha.client.submit(blocker);
    const headers = { 'idempotency-key': 'waits' };
    const waiting = await first.post(reader(from(job_id)), { headers });
    expect(await first.stop('kept')).toEqual([]);
    const database = new DatabaseSync(join(first.dataDir, 'svc.db'));
    database.prepare('update jobs set finished_at = ? where job_id = ?').run('2020-01-01T00:00:00.000Z', job_id);
    database.close();

    const second = await Rig.start({ ...settings, 'retention-days': '100' }, first.dataDir);
    try {
      const statusOf = async (path: string) => (await second.request(path)).status;
      await expect.poll(() => statusOf(`/v1/jobs/${job_id}`), { timeout: 10_000 }).toBe(404);
      expect(refusalOf(await second.post(reader(from(job_id))))).toEqual([422, 'input_unavailable']);
      const byDigest = reader({ path: 'input/a', blob });
      expect(refusalOf(await second.post(byDigest))).toEqual([422, 'blob_unavailable']);
      expect(await statusOf(`/v1/blobs/sha256/${digestOf(text)}`)).toBe(404);
      for (const body of [reader(from(job_id)), byDigest]) {
        const again = await second.post(body, { headers });
        expect([again.status, again.json.job_id]).toEqual([201, waiting.json.job_id]);
      }
      const running = async () => (await second.alpha.client.list({ status: ['running'] })).items;
      await expect.poll(running).toHaveLength(1);
      const [blocking] = await running();
      await second.alpha.client.cancel(blocking?.job_id ?? '');
      expect((await second.ended(waiting.json.job_id as string)).result.stdout).toBe(text);
    } finally {
      expect(await second.stop()).toEqual([]);
    }
  },
);
