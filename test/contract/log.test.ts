/**
 * A service's log: anyone may read the proofs about signed results, before and after a restart, and `service-verify`
 * checks the proofs. docs/decisions/0064.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  decodeEnvelope,
  findSignature,
  type Hash,
  leafHash,
  logEntryBody,
  logLeaf,
  type NodeHashes,
  nodeHash,
  parseCheckpoint,
  parsePublicKey,
  rangeHash,
} from '@vouchbox/evidence';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { databaseOf } from '../rig/database.ts';
import { Rig } from '../rig/rig.ts';

const SIGNED = { provider: 'subprocess', 'attestation-mode': 'on' };
const SETTINGS = { ...SIGNED, 'log-host': 'log.example' };
const python = { language: 'python', code: 'print("hi")' } as const;

let scratch: string;
let dataDir: string;
let rig: Rig;
let first: string;
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-log-test-'));
  dataDir = join(scratch, 'data');
  rig = await Rig.start(SETTINGS, dataDir);
  first = (await rig.alpha.client.run(python)).job_id;
});
afterAll(async () => {
  expect(await rig.stop()).toEqual([]);
  rmSync(scratch, { recursive: true, force: true });
});

/** A job's proof, once the log has the job. */
async function proofOf(job_id: string): Promise<string> {
  let bytes = new Uint8Array();
  await expect
    .poll(
      async () => {
        try {
          bytes = new Uint8Array((await rig.alpha.client.logProof(job_id)).bytes);
          return 'proved';
        } catch (error) {
          return (error as { code?: string }).code;
        }
      },
      { timeout: 20_000 },
    )
    .toBe('proved');
  return new TextDecoder().decode(bytes);
}

async function read(path: string): Promise<Response> {
  return await fetch(`${rig.service.url}/log/${path}`);
}

async function keysOfLog(): Promise<{ readonly origin: string; readonly log_key: string; readonly opening: object }> {
  return (await (await read('keys')).json()) as never;
}

let written = 0;
function file(content: string | Uint8Array): string {
  const path = join(scratch, `file-${++written}`);
  writeFileSync(path, content);
  return path;
}

/** The options with which `service-verify verify` checks one of this service's jobs. */
async function evidenceOf(job_id: string): Promise<string[]> {
  const { client } = rig.alpha;
  const [envelope, result, key] = [
    await client.attestation(job_id),
    await client.resultArtifact(job_id),
    await client.publicKey(),
  ];
  return [
    ...['verify', '--envelope', file(envelope.bytes), '--subject', file(result.bytes)],
    ...['--public-key', file(key.public_key_pem), '--tenant', 'alpha', '--subject-name', `svc://jobs/${job_id}/result`],
  ];
}

test('a service with a log proves that a job is in the log', { tags: ['Log-3', 'Log-6'] }, async () => {
  const proof = await proofOf(first);
  const { origin, log_key } = await keysOfLog();
  expect(origin).toBe('log.example/log/1');
  const words = [...(await evidenceOf(first)), '--log-key', file(log_key), '--log-proof', file(proof)];
  const verified = await serviceVerify(words);
  expect(verified).toMatchObject({ exitCode: 0 });
  expect(verified.stdout).toContain('UNWITNESSED');
  expect((await rig.alpha.client.capabilities()).features).toContain('transparency_log');
});

test('the status states the progress of the log', { tags: ['Bodies-10c'] }, async () => {
  await proofOf(first);
  const { log } = await rig.alpha.client.status();
  expect(log).toMatchObject({ origin: 'log.example/log/1', waiting: 0, last_error: null, last_error_at: null });
  expect([log?.size, log?.signed_size]).toEqual([2, 2]);
});

test("the log's opening statement is leaf 0 and is signed by the key that signs results", {
  tags: ['Log-1'],
}, async () => {
  const { opening, log_key } = await keysOfLog();
  const bytes = new TextEncoder().encode(JSON.stringify(opening));
  const decoded = decodeEnvelope(bytes);
  const key = parsePublicKey((await rig.alpha.client.publicKey()).public_key_pem);
  if (decoded.kind === 'refused' || key.kind === 'refused') throw new Error('it is no envelope');
  const found = await findSignature(decoded.envelope, [key.key]);
  expect(JSON.parse(new TextDecoder().decode(decoded.envelope.payload))).toMatchObject({
    predicate: { logKey: log_key },
  });
  const body = logEntryBody({
    bytes,
    envelope: decoded.envelope,
    signature: decoded.envelope.signatures[0] as never,
    key: key.key,
  });
  expect(found).not.toBeNull();
  const tile = new Uint8Array(await (await read('tile/0/000.p/1')).arrayBuffer());
  expect(tile).toEqual(leafHash(body));
});

test("the hashes in the log's tiles give the root in the log's head", async () => {
  await proofOf(first);
  const head = parseCheckpoint(await (await read('checkpoint')).text());
  if (head.kind === 'refused') throw new Error(head.reason);
  const { size, root } = head.checkpoint;
  const tile = new Uint8Array(await (await read(`tile/0/000.p/${size}`)).arrayBuffer());
  const leaf = (at: number): Hash => tile.slice(32 * at, 32 * (at + 1));
  const hashes: NodeHashes = ({ level, index }) =>
    level === 0
      ? leaf(index)
      : nodeHash(hashes({ level: level - 1, index: 2 * index }), hashes({ level: level - 1, index: 2 * index + 1 }));
  expect(rangeHash({ start: 0, end: size }, hashes)).toEqual(root);
});

test('anyone who has only a leaf’s hash gets the proof for that leaf', async () => {
  await proofOf(first);
  const { bytes } = await rig.alpha.client.attestation(first);
  const decoded = decodeEnvelope(bytes);
  const key = parsePublicKey((await rig.alpha.client.publicKey()).public_key_pem);
  if (decoded.kind === 'refused' || key.kind === 'refused') throw new Error('it is no envelope');
  const signature = decoded.envelope.signatures[0] as never;
  const hash = Buffer.from(logLeaf({ bytes, envelope: decoded.envelope, signature, key: key.key })).toString('hex');
  const [told, own] = [await (await read(`proof?hash=${hash}`)).text(), await proofOf(first)];
  expect(told).toBe(own);
});

describe('the log answers 404 to a request for', { tags: ['Log-4'] }, () => {
  test.each([
    ['the proof of an unknown leaf', `proof?hash=${'0'.repeat(64)}`],
    ['a malformed hash', 'proof?hash=x'],
    ['a proof without a hash', 'proof'],
    ['a whole tile of a small tree', 'tile/0/000'],
    ['a tile beyond the tree', 'tile/0/x001/000.p/1'],
    ['a tile of another level', 'tile/1/000.p/1'],
    ['a tile with another spelling', 'tile/00/000.p/1'],
    ['a tile with a zero group', 'tile/0/x000/000.p/1'],
    ['a tile of no hashes', 'tile/0/000.p/0'],
    ['a tile whose path leads up', 'tile/0/%2e%2e/checkpoint'],
    ['growth from a size above the present one', 'consistency?old=99999'],
    ['growth from a negative size', 'consistency?old=-1'],
    ['an unknown name', 'other'],
  ])('%s', async (_what, path) => {
    expect((await read(path)).status).toBe(404);
  });
});

describe('vouchbox export --log-proof', () => {
  const access = () => ['--url', rig.service.url, '--key', rig.alpha.key];

  test('writes the proof beside the directory, and one command checks both', async () => {
    const [directory, proof] = [join(scratch, 'exported'), join(scratch, 'exported.tlog-proof')];
    const exported = await vouchbox(['export', first, '--output', directory, '--log-proof', proof, ...access()]);
    expect(exported).toMatchObject({ code: 0 });
    const key = file((await rig.alpha.client.publicKey()).public_key_pem);
    const words = ['directory', directory, '--public-key', key, '--tenant', 'alpha', '--require', 'logged'];
    const logKey = file((await keysOfLog()).log_key);
    expect(await serviceVerify([...words, '--log-key', logKey, '--log-proof', proof])).toMatchObject({ exitCode: 0 });
    expect(await serviceVerify([...words, '--log-key', logKey])).toMatchObject({ exitCode: 5 });
    const again = await vouchbox(['export', first, '--output', `${directory}-2`, '--log-proof', proof, ...access()]);
    expect(again).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('exists already; name another with --log-proof') as string,
    });
  });

  test('is refused if --with-inputs is given too, because a proof belongs to one job', async () => {
    const words = ['export', first, '--with-inputs', '--log-proof', join(scratch, 'graph'), ...access()];
    expect(await vouchbox(words)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('belongs to one job') as string,
    });
  });
});

test('vouchbox export --log-proof works with a stopped service’s data directory', async () => {
  await proofOf(first);
  const { log_key } = await keysOfLog();
  const key = file((await rig.alpha.client.publicKey()).public_key_pem);
  expect(await rig.stop('kept')).toEqual([]);
  const [directory, proof] = [join(scratch, 'stored'), join(scratch, 'stored.tlog-proof')];
  const url = await databaseOf(dataDir);
  const stored = ['--data-dir', dataDir, ...(url === null ? [] : ['--database-url', url]), '--tenant', 'alpha'];
  const words = ['export', first, ...stored, '--output', directory, '--log-proof', proof];
  expect(await vouchbox(words)).toMatchObject({ code: 0 });
  const checked = ['directory', directory, '--public-key', key, '--tenant', 'alpha', '--require', 'logged'];
  expect(await serviceVerify([...checked, '--log-key', file(log_key), '--log-proof', proof])).toMatchObject({
    exitCode: 0,
  });
  rig = await Rig.start(SETTINGS, dataDir);
});

test('the log continues after a restart of the service, and proves that it only grew', {
  tags: ['Log-2'],
}, async () => {
  const state = join(scratch, 'head');
  const logKey = file((await keysOfLog()).log_key);
  const remember = ['--log-key', logKey, '--log-state', state];
  expect(
    await serviceVerify([...(await evidenceOf(first)), ...remember, '--log-proof', file(await proofOf(first))]),
  ).toMatchObject({
    exitCode: 0,
  });
  const before = parseCheckpoint(await (await read('checkpoint')).text());
  expect(await rig.stop('kept')).toEqual([]);
  rig = await Rig.start(SETTINGS, dataDir);
  const second = (await rig.alpha.client.run(python)).job_id;
  const proof = file(await proofOf(second));
  const size = before.kind === 'checkpoint' ? before.checkpoint.size : 0;
  const grown = file(await (await read(`consistency?old=${size}`)).text());
  const words = [...(await evidenceOf(second)), ...remember, '--log-proof', proof];
  expect(await serviceVerify(words)).toMatchObject({ exitCode: 6 });
  expect(await serviceVerify([...words, '--log-consistency', grown])).toMatchObject({ exitCode: 0 });
});

test("a request for the proof about another tenant's job is answered like a request about an unknown job", async () => {
  const ofBeta = await rig.request(`/v1/jobs/${first}/log-proof`, { key: rig.beta.key });
  const unknown = await rig.request('/v1/jobs/job_x/log-proof', { key: rig.beta.key });
  expect([ofBeta.status, unknown.status]).toEqual([404, 404]);
  const told = ({ json }: { readonly json: { error: { code: string; message: string } } }) => [
    json.error.code,
    json.error.message,
  ];
  expect(told(ofBeta)).toEqual(told(unknown));
});

test('a service without a log answers requests for a proof and for the public log with 404', {
  tags: ['Log-3', 'Log-4'],
}, async () => {
  const plain = await Rig.start(SIGNED);
  const { job_id } = await plain.alpha.client.run(python);
  await expect
    .poll(() =>
      plain.alpha.client.attestation(job_id).then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  await expect(plain.alpha.client.logProof(job_id)).rejects.toMatchObject({ code: 'not_logged' });
  expect((await fetch(`${plain.service.url}/log/checkpoint`)).status).toBe(404);
  expect(await plain.stop()).toEqual([]);
});

test('a service refuses to start with a --log-host that is not a host name', async () => {
  const words = [
    'serve',
    '--port',
    '0',
    '--provider',
    'subprocess',
    '--log-host',
    'a b',
    '--data-dir',
    join(scratch, 'other'),
  ];
  expect(await vouchbox(words)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/LOG_HOST|log-host/) as string,
  });
});
