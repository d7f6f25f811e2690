/** Spec § Blobs: files that are uploaded before the jobs that name them. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { blobBytesMax } from '@vouchbox/protocol';
import { describe, expect } from 'vitest';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { type Answer, type Rig, useRig } from '../rig/rig.ts';

const rig = useRig({ 'tenant-blobs-max': '24', 'tenant-blobs-mb-max': '192' });
const few = useRig({ provider: 'subprocess', 'tenant-blobs-max': '3', 'tenant-blobs-mb-max': '1' });

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const pathOf = (sha256: string) => `/v1/blobs/sha256/${sha256}`;
const randomBytes = (length: number) => {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes;
};

interface Sent {
  readonly to?: Rig;
  readonly sha256?: string;
  readonly key?: string;
}

function put(bytes: Uint8Array, { to = rig(), sha256 = digestOf(bytes), key }: Sent = {}): Promise<Answer> {
  const headers = { 'content-type': 'application/octet-stream' };
  return to.request(pathOf(sha256), { method: 'PUT', body: bytes, key: key ?? to.alpha.key, headers });
}

const statusOf = async (sha256: string, key = rig().alpha.key) =>
  (await rig().request(pathOf(sha256), { method: 'HEAD', key })).status;

const refusalOf = ({ status, json }: Answer): [number, string] => [status, json.error.code as string];

/** A connection that has sent the head of an upload request. */
async function beginning(sha256: string, headers: string, to: Rig = rig()) {
  const socket = connect(to.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`PUT ${pathOf(sha256)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${to.alpha.key}\r\n${headers}\r\n`);
  return socket;
}

describe('an upload', () => {
  test('is stored under its digest, and is read byte for byte', { tags: ['Blobs-1', 'Blobs-5'] }, async () => {
    const bytes = randomBytes(1_300_000);
    const sha256 = digestOf(bytes);
    const before = Date.now();
    const answer = await put(bytes);
    expect([answer.status, answer.json]).toMatchObject([201, { blob: `sha256:${sha256}`, size_bytes: bytes.length }]);
    expect(Date.parse(answer.json.expires_at as string)).toBeGreaterThanOrEqual(before + 86_400_000);
    const read = await fetch(rig().service.url + pathOf(sha256), {
      headers: { authorization: `Bearer ${rig().alpha.key}` },
    });
    expect(read.headers.get('x-content-sha256')).toBe(sha256);
    expect(read.headers.get('content-type')).toBe('application/octet-stream');
    expect(new Uint8Array(await read.arrayBuffer())).toEqual(bytes);
    const head = await rig().request(pathOf(sha256), { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), head.text]).toEqual([200, String(bytes.length), '']);
  });

  test('may be repeated, and is then answered with 200', { tags: ['Blobs-2'] }, async () => {
    const bytes = randomBytes(10);
    expect((await put(bytes)).status).toBe(201);
    expect((await put(bytes)).status).toBe(200);
    const both = await Promise.all([put(randomBytes(20)), put(bytes)]);
    expect(both.map(({ status }) => status)).toEqual([201, 200]);
  });

  test('uploads of the same bytes at the same time make one blob', { tags: ['Blobs-2'] }, async () => {
    const bytes = randomBytes(700_000);
    const answers = await Promise.all([put(bytes), put(bytes), put(bytes)]);
    for (const { status } of answers) expect([200, 201]).toContain(status);
    expect(await statusOf(digestOf(bytes))).toBe(200);
  });

  test('an empty upload makes a blob of no bytes', async () => {
    const bytes = new Uint8Array(0);
    expect([200, 201]).toContain((await put(bytes)).status);
    const files = [{ path: 'input/empty', blob: `sha256:${digestOf(bytes)}` }];
    const { result } = await rig().run({ language: 'bash', code: 'wc -c < input/empty', files });
    expect(result.stdout.trim()).toBe('0');
  });

  test('an upload whose bytes do not match the digest in its address leaves nothing behind', {
    tags: ['Blobs-3'],
  }, async () => {
    const bytes = randomBytes(600_000);
    const sha256 = digestOf(randomBytes(3));
    expect(refusalOf(await put(bytes, { sha256 }))).toEqual([422, 'digest_mismatch']);
    for (const digest of [sha256, digestOf(bytes)]) expect(await statusOf(digest)).toBe(404);
  });

  test('an upload of other bytes under a stored blob’s digest is refused', { tags: ['Blobs-3'] }, async () => {
    const known = randomBytes(30);
    await put(known);
    expect(refusalOf(await put(randomBytes(30), { sha256: digestOf(known) }))).toEqual([422, 'digest_mismatch']);
    expect(await statusOf(digestOf(known))).toBe(200);
  });

  test('an upload to an address that is not a digest is refused', async () => {
    const bytes = randomBytes(3);
    for (const sha256 of [digestOf(bytes).toUpperCase(), 'x', '..%2f..%2fetc', digestOf(bytes).slice(1)]) {
      expect(refusalOf(await put(bytes, { sha256 }))).toEqual([400, 'invalid_request']);
      expect(refusalOf(await rig().request(pathOf(sha256)))).toEqual([404, 'blob_not_found']);
    }
  });

  test('an upload whose Content-Length is above 64 MiB is refused before its body is read', {
    tags: ['Limits-4a'],
  }, async () => {
    const sha256 = digestOf(randomBytes(9));
    const socket = await beginning(sha256, `Content-Length: ${blobBytesMax + 1}\r\nExpect: 100-continue\r\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 [\s\S]*payload_too_large/);
    socket.destroy();
  });

  slowTest('an upload above 64 MiB is refused when it is sent in chunks', { tags: ['Limits-4a'] }, async () => {
    const sha256 = digestOf(randomBytes(9));
    const piece = Buffer.alloc(2 ** 20);
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(piece);
        if (++sent === 66) controller.close();
      },
    });
    const request = fetch(rig().service.url + pathOf(sha256), {
      method: 'PUT',
      body,
      duplex: 'half',
      headers: { authorization: `Bearer ${rig().alpha.key}` },
    } as RequestInit);
    expect((await request).status).toBe(413);
    expect(await statusOf(sha256)).toBe(404);
  });

  test('an encoded upload is refused', async () => {
    const bytes = randomBytes(3);
    const headers = { 'content-encoding': 'gzip' };
    const answer = await rig().request(pathOf(digestOf(bytes)), { method: 'PUT', body: bytes, headers });
    expect(refusalOf(answer)).toEqual([415, 'unsupported_media_type']);
  });

  test("an upload that breaks off stores nothing and uses up none of the tenant's limit", {
    tags: ['Blobs-3'],
  }, async () => {
    const bytes = randomBytes(900_000);
    const sha256 = digestOf(bytes);
    for (let round = 0; round < 5; round++) {
      const socket = await beginning(sha256, `Content-Length: ${bytes.length}\r\n`, few());
      socket.write(bytes.subarray(0, 800_000));
      socket.destroy();
      await once(socket, 'close');
    }
    // A tenant here may have 1 MiB. This upload would be refused if the upload that broke off still counted.
    await expect.poll(async () => (await put(bytes, { to: few() })).status, { timeout: 20_000 }).toBe(201);
  });
});

describe('a tenant', () => {
  test('has no more blobs than its limit', { tags: ['Blobs-6'] }, async () => {
    const answers = [];
    for (let count = 0; count < 5; count++) {
      answers.push(await put(randomBytes(8), { to: few(), key: few().beta.key }));
    }
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 429, 429]);
    expect(refusalOf(answers[3] as Answer)).toEqual([429, 'tenant_capacity_exhausted']);
    expect(Number(answers[3]?.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('has no more bytes than its limit', { tags: ['Blobs-6'] }, async () => {
    expect(refusalOf(await put(randomBytes(2 ** 20 + 1), { to: few() }))).toEqual([429, 'tenant_capacity_exhausted']);
  });

  test('does not see the blobs of another tenant', { tags: ['Blobs-4', 'Errors-9'] }, async () => {
    const bytes = randomBytes(50);
    const sha256 = digestOf(bytes);
    await put(bytes);
    const own = { key: rig().beta.key };
    const foreign = await rig().request(pathOf(sha256), own);
    const unknown = await rig().request(pathOf(digestOf(randomBytes(4))), own);
    expect(refusalOf(foreign)).toEqual([404, 'blob_not_found']);
    expect(foreign.json.error.message).toBe(unknown.json.error.message);
    const files = [{ path: 'input/a', blob: `sha256:${sha256}` }];
    const submission = { language: 'bash', code: 'cat input/a', files };
    expect(refusalOf(await rig().post(submission, own))).toEqual([422, 'blob_unavailable']);
    expect((await put(bytes, own)).status).toBe(201);
  });
});

describe('a submission that names a blob', () => {
  test('gives the program the file, and its digest is in the receipt', { tags: ['Blobs-7', 'Blobs-8'] }, async () => {
    const bytes = randomBytes(5_000_001);
    const sha256 = digestOf(bytes);
    await put(bytes);
    const files = [
      { path: 'input/deep/large.bin', blob: `sha256:${sha256}` },
      { path: 'input/small', content_base64: 'YQ==' },
    ];
    const { result, detail } = await rig().run({
      language: 'bash',
      code: 'sha256sum input/deep/large.bin; cat input/small',
      files,
    });
    expect(result.stdout).toBe(`${sha256}  input/deep/large.bin\na`);
    expect(detail.requested_spec.files).toEqual(files);
    expect(detail.receipt).toMatchObject({
      input_artifacts: [
        { path: 'input/deep/large.bin', size_bytes: bytes.length, sha256 },
        { path: 'input/small', size_bytes: 1, sha256: digestOf(Buffer.from('a')) },
      ],
    });
  });

  slowTest('gives the program a blob of 64 MiB to its last byte', { tags: ['Blobs-7', 'Limits-4a'] }, async () => {
    const bytes = randomBytes(blobBytesMax);
    const { blob } = await rig().alpha.client.upload(bytes);
    const files = [{ path: 'input/a', blob }];
    const { result } = await rig().run({ language: 'bash', code: 'sha256sum < input/a', files });
    expect(`sha256:${result.stdout.slice(0, 64)}`).toBe(blob);
    const more = [...files, { path: 'input/b', content_base64: 'YQ==' }];
    const refused = await rig().post({ language: 'bash', code: 'true', files: more });
    expect(refusalOf(refused)).toEqual([413, 'payload_too_large']);
    expect(refused.json.error.message).toMatch(/^\/files have/);
  });

  test('has the same evidence as a submission with the file inline, and both may use one idempotency key', {
    tags: ['Blobs-8', 'Submit-1'],
  }, async () => {
    const bytes = randomBytes(100);
    await put(bytes);
    const blob = `sha256:${digestOf(bytes)}`;
    const submission = { language: 'bash', code: 'cat input/a | wc -c' } as const;
    const inline = [{ path: 'input/a', content_base64: Buffer.from(bytes).toString('base64') }];
    const key = { headers: { 'idempotency-key': 'one-file-two-ways' } };
    const first = await rig().post({ ...submission, files: inline }, key);
    const second = await rig().post({ ...submission, files: [{ path: 'input/a', blob }] }, key);
    expect([second.headers.get('idempotency-replayed'), second.json.job_id]).toEqual(['true', first.json.job_id]);
    const receipts = [];
    for (const files of [inline, [{ path: 'input/a', blob }]]) {
      receipts.push((await rig().run({ ...submission, files })).detail.receipt as Record<string, unknown>);
    }
    for (const member of ['input_artifacts', 'policy_sha256', 'code_sha256']) {
      expect(receipts[0]?.[member]).toEqual(receipts[1]?.[member]);
    }
  });

  test('is refused if its idempotency key was used with another blob', { tags: ['Submit-2'] }, async () => {
    const key = { headers: { 'idempotency-key': 'large-files' } };
    const submission = { language: 'bash', code: 'true' };
    const statuses = [];
    for (const bytes of [randomBytes(3_000_000), randomBytes(3_000_000)]) {
      const { blob } = await rig().alpha.client.upload(bytes);
      for (let times = 0; times < 2; times++) {
        const answer = await rig().post({ ...submission, files: [{ path: 'input/a', blob }] }, key);
        statuses.push([answer.status, answer.headers.get('idempotency-replayed')]);
      }
    }
    expect(statuses).toEqual([
      [201, 'false'],
      [201, 'true'],
      [422, null],
      [422, null],
    ]);
  });

  test.each([
    ['an unknown digest', { path: 'input/a', blob: `sha256:${'0'.repeat(64)}` }, 422, '/files/0/blob is not a blob'],
    ['no digest', { path: 'input/a', blob: 'a' }, 400, '/files/0/blob must match'],
    ['another prefix', { path: 'input/a', blob: `md5:${'0'.repeat(64)}` }, 400, '/files/0/blob must match'],
    ['two contents', { path: 'input/a', blob: 'x', content_base64: '' }, 400, '/files/0/blob is not a known member'],
    ['no content', { path: 'input/a' }, 400, '/files/0/content_base64 is required'],
    ['a path that leads out', { path: 'input/../a', blob: `sha256:${'0'.repeat(64)}` }, 400, '/files/0/path'],
    ['an absolute path', { path: '/etc/passwd', blob: `sha256:${'0'.repeat(64)}` }, 400, '/files/0/path'],
  ])('is refused with %s, and makes no job', { tags: ['Blobs-7'] }, async (_what, file, status, message) => {
    const count = await rig().jobCount();
    const answer = await rig().post({ language: 'bash', code: 'true', files: [file] });
    expect([answer.status, answer.json.error.message]).toEqual([status, expect.stringContaining(message)]);
    expect(await rig().jobCount()).toBe(count);
  });
});
