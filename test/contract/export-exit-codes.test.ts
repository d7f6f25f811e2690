/** The exit codes of `vouchbox export`. The command leaves either a whole directory or none. docs/VERIFYING.md. */

import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parsePublicKey, sha256Hex } from '@vouchbox/evidence';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { json, refusal, type ScriptedService, scriptedService } from '../../packages/client/test/scripted-service.ts';
import { whole } from '../../packages/client/test/whole-answer.ts';
import { Command, vouchbox } from '../rig/command.ts';
import { slowTest, quickTest as test } from '../rig/form.ts';

const content = Buffer.alloc(300_000, 'content');
const sha256 = sha256Hex(content);
const PIECE = Buffer.alloc(1024 * 1024);

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-export-codes-'));
});
afterEach(() => rmSync(join(scratch, 'out'), { recursive: true, force: true }));
afterAll(() => rmSync(scratch, { recursive: true }));

type Answer = (response: ServerResponse) => void;

const { publicKey } = generateKeyPairSync('ed25519');
const public_key_pem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
const parsed = parsePublicKey(public_key_pem);

/** A service that has one job with one uploaded file. `blob` has its answers to the requests for the file, in order. */
function serving(...blob: readonly Answer[]): Promise<ScriptedService> {
  const exact = json({}, 200, { 'x-content-sha256': sha256Hex('{}') });
  const detail = {
    tenant: 'acme',
    requested_spec: { files: [{ path: 'input/a', blob: `sha256:${sha256}` }] },
    attestation: { key_id: parsed.kind === 'key' ? parsed.key.key_id : '' },
    receipt: { input_artifacts: [{ path: 'input/a', size_bytes: content.length, sha256 }] },
  };
  const answers: Readonly<Record<string, Answer>> = {
    attestation: exact,
    'result-artifact': exact,
    result: json(whole('GET /v1/jobs/{id}/result', { status: 'succeeded', artifacts: [] })),
    replay: json({ events: [], next_cursor: null }),
    'public-key': json(whole('GET /v1/attestation/public-key', { public_key_pem })),
    job_1: json(whole('GET /v1/jobs/{id}', detail)),
  };
  let asked = 0;
  return scriptedService([
    (response, { url }) => {
      const name = url.split('?')[0]?.split('/').at(-1) ?? '';
      if (name !== sha256) return (answers[name] ?? refusal(404, 'job_not_found', {}, false))(response);
      return blob[Math.min(asked++, blob.length - 1)]?.(response);
    },
  ]);
}

const bytes =
  (body: Uint8Array): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': body.length });
    response.end(body);
  };

/** Declares the length of the whole file, sends a part of the file, and ends the connection. */
const cutOff: Answer = (response) => {
  response.writeHead(200, { 'content-length': content.length });
  response.write(content.subarray(0, 100_000), () => response.destroy());
};

/** Sends more bytes than any file has, without a declared length. */
const endless: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/octet-stream' });
  const more = () => {
    while (!response.destroyed && response.write(PIECE));
    if (!response.destroyed) response.once('drain', more);
  };
  more();
};

const words = ({ baseUrl }: ScriptedService, job = 'job_1') => ['export', job, '--url', baseUrl, '--key', 'k'];

async function exported(service: ScriptedService, job?: string) {
  const before = readdirSync(scratch);
  const ended = await vouchbox([...words(service, job), '--output', 'out'], { cwd: scratch });
  const left = ended.code === 0 ? [] : readdirSync(scratch).filter((name) => !before.includes(name));
  expect(left).toEqual([]);
  return ended;
}

const written = (path: string) => readFileSync(join(scratch, 'out', path));

describe('vouchbox export', () => {
  test('exits with 0 and writes the file, even if the first two answers break off', async () => {
    await using service = await serving(cutOff, cutOff, bytes(content));
    expect(await exported(service)).toMatchObject({ code: 0 });
    expect(written('input/a').equals(content)).toBe(true);
    expect(JSON.parse(written('manifest.json').toString()).files).toContainEqual({
      path: 'input/a',
      size_bytes: content.length,
      sha256,
    });
  });

  test('exits with 0 and names each file that the service no longer has', async () => {
    await using service = await serving(refusal(404, 'blob_not_found', {}, false));
    const ended = await exported(service);
    expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining('input/a is missing') });
    expect(readdirSync(join(scratch, 'out'))).not.toContain('input');
  });

  test('exits with 1 if the directory cannot be written', async () => {
    await using service = await serving(bytes(content));
    mkdirSync(join(scratch, 'small'));
    const full = ['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', join(scratch, 'small')];
    const within = ['unshare', '--mount', 'sh', '-c', `${full.join(' ')} && exec "$0" "$@"`];
    const output = ['--output', join(scratch, 'small', 'out')];
    const ended = await vouchbox([...words(service), ...output], { cwd: scratch, within });
    expect([ended.code, ended.stderr]).toEqual([1, expect.stringMatching(/^vouchbox: .*could not be written: ENOSPC/)]);
  });

  test('exits with 2 if the command line is wrong', async () => {
    await using service = await serving(bytes(content));
    mkdirSync(join(scratch, 'there'));
    const ended = await vouchbox([...words(service), '--output', 'there'], { cwd: scratch });
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('there exists already') });
  });

  test('exits with 3 if the service refuses', async () => {
    await using service = await serving(refusal(403, 'insufficient_scope', {}, false));
    expect(await exported(service)).toMatchObject({ code: 3, stderr: expect.stringContaining('insufficient_scope') });
    expect(await exported(service, 'job_2')).toMatchObject({ code: 3 });
  });

  test('exits with 4 if every answer for a file breaks off', async () => {
    await using service = await serving(cutOff);
    expect(await exported(service)).toMatchObject({ code: 4, stderr: expect.stringMatching(/^vouchbox: [^\n]+\n$/) });
  });

  slowTest('exits with 4 if the service does not answer', async () => {
    const service = await serving(bytes(content));
    await service[Symbol.asyncDispose]();
    expect(await exported(service)).toMatchObject({ code: 4, stderr: expect.stringContaining('ECONNREFUSED') });
  });

  slowTest.each([
    ['other bytes', bytes(Buffer.alloc(content.length))],
    ['a part of the file as if it were all of it', bytes(content.subarray(0, 1000))],
    ['more than any file has, without an end', endless],
  ])('exits with 5 if the service answers a request for a file with %s', async (_what, answer) => {
    await using service = await serving(answer);
    expect(await exported(service)).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/^vouchbox: the answer is /),
    });
  });

  test('exits with 130 and leaves nothing if it is interrupted while a file arrives', async () => {
    const arrived = Promise.withResolvers<void>();
    await using service = await serving((response) => {
      response.writeHead(200, { 'content-length': content.length });
      response.write(content.subarray(0, 100_000), () => arrived.resolve());
    });
    const before = readdirSync(scratch);
    await using command = new Command([...words(service), '--output', 'out'], { cwd: scratch });
    await arrived.promise;
    command.kill('SIGINT');
    expect(await command.ended()).toMatchObject({ code: 130, stderr: 'vouchbox: interrupted: nothing was exported\n' });
    expect(readdirSync(scratch)).toEqual(before);
  });
});
