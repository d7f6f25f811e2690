/**
 * Promises by a service that keeps a log. Both clients fetch and compare promises, the log stores them, and
 * `service-verify promise` checks them. docs/decisions/0066.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as Agent } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { EvidenceFailure } from '@vouchbox/client';
import { canonicalJson } from '@vouchbox/evidence';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandFile, vouchbox } from '../rig/command.ts';
import { Rig } from '../rig/rig.ts';

const SIGNED = { provider: 'subprocess', 'attestation-mode': 'on' };
const LOGGED = { ...SIGNED, 'log-host': 'log.example' };
const python = { language: 'python', code: 'print("hi")' } as const;
const sleeper = { language: 'bash', code: 'sleep 250', limits: { wall_seconds: 250 } } as const;

let scratch: string;
let rig: Rig;
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-promise-test-'));
  // The promised time is short, so that a sleeping job exceeds it.
  rig = await Rig.start({ ...LOGGED, 'log-promise-seconds': '10' });
});
afterAll(async () => {
  expect(await rig.stop()).toEqual([]);
  rmSync(scratch, { recursive: true, force: true });
});

let written = 0;
function file(content: string | Uint8Array): string {
  const path = join(scratch, `file-${++written}`);
  writeFileSync(path, content);
  return path;
}

/** The options of `service-verify promise` that give the pinned keys and the tenant. */
async function pinned(): Promise<string[]> {
  const key = file((await rig.alpha.client.publicKey()).public_key_pem);
  const { log_key } = (await (await fetch(`${rig.service.url}/log/keys`)).json()) as { log_key: string };
  return ['--public-key', key, '--tenant', 'alpha', '--log-key', file(log_key)];
}

async function proofOf(job_id: string): Promise<Uint8Array> {
  const { client } = rig.alpha;
  let proof: Uint8Array | null = null;
  const ask = async () => {
    proof = await client.logProof(job_id).then(
      ({ bytes }) => bytes,
      () => null,
    );
    return proof !== null;
  };
  await expect.poll(ask, { timeout: 20_000 }).toBe(true);
  return proof ?? new Uint8Array();
}

/** Calls the tool `run_code` of `vouchbox mcp`. */
async function runCode({ service, alpha: { key } }: Rig, words: Readonly<Record<string, unknown>>) {
  const agent = new Agent({ name: 'test', version: '1.0.0' });
  const env = { PATH: process.env['PATH'] ?? '', SERVICE_URL: service.url, SERVICE_KEY: key };
  await agent.connect(new StdioClientTransport({ command: commandFile, args: ['mcp'], env, stderr: 'pipe' }));
  try {
    return await agent.callTool({ name: 'run_code', arguments: { ...python, ...words } });
  } finally {
    await agent.close();
  }
}

test('the MCP tool run_code returns a promise if it is called with promise: true', {
  tags: ['Promise-3'],
}, async () => {
  const { structuredContent, content } = await runCode(rig, { promise: true });
  const { job_id, promise } = structuredContent as { job_id: string; promise: { envelope: string; answer_by: string } };
  expect(content).toMatchObject([
    { text: expect.stringContaining(`log.example/log/1 answers by ${promise.answer_by}`) },
  ]);
  const verified = await serviceVerify(['promise', file(promise.envelope), ...(await pinned()), '--job', job_id]);
  expect(verified).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('OPEN') });
  expect((await runCode(rig, {})).structuredContent).not.toHaveProperty('promise');
});

test('a signed result and its log proof show that the promise to client.run was kept', {
  tags: ['Promise-1', 'Promise-3'],
}, async () => {
  const { client } = rig.alpha;
  const before = await client.run(python, { promise: true });
  const { promise, job_id, receipt } = await client.run('print(input())', {
    stdin: 'x',
    args: ['a', 'b'],
    env: { A: 'é' },
    files: { 'in.txt': 'text' },
    promise: 'required',
  });
  expect(promise).toMatchObject({ tenant: 'alpha', job_id, log_origin: 'log.example/log/1' });
  expect(promise?.tenant_job_number).toBe((before.promise?.tenant_job_number ?? 0) + 1);
  expect(Date.parse(promise?.answer_by ?? '') - Date.parse(promise?.accepted_at ?? '')).toBe(10_000);
  expect(promise?.bytes).toEqual((await client.promise(job_id)).bytes);
  const proof = file(await proofOf(job_id));
  const envelope = file((await client.attestation(job_id)).bytes);
  const words = ['promise', file(promise?.bytes ?? ''), ...(await pinned()), '--envelope', envelope];
  const verified = await serviceVerify([...words, '--log-proof', proof, '--require', 'kept']);
  expect(verified).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('KEPT') as string });
  expect((await client.detail(job_id)).requested_spec.promise).toBe(true);
  expect(receipt.code_sha256).toBeDefined();
  expect((await client.capabilities()).features).toContain('job_promises');
});

describe('the answer to a submission that asks for a promise', () => {
  const asked = (query: string, body: object = { ...python, promise: true }) =>
    rig.request(`/v1/jobs?${query}`, { method: 'POST', body });

  test('has the result and the promise, in the canonical form that was signed', { tags: ['Submit-9c'] }, async () => {
    const { json } = await asked('wait_seconds=60&include=promise');
    const fetched = await rig.alpha.client.promise(json.job_id, { waitSeconds: 20 });
    expect(json.result.stdout).toBe('hi\n');
    expect(canonicalJson(json.promise)).toBe(Buffer.from(fetched.bytes).toString());
  });

  test('has the promise and no result while the job runs', { tags: ['Submit-9c'] }, async () => {
    const headers = { 'idempotency-key': 'promised-and-sleeping' };
    const submission = { method: 'POST', body: { ...sleeper, promise: true }, headers };
    const { job_id } = (await rig.request('/v1/jobs', submission)).json as { job_id: string };
    await rig.alpha.client.promise(job_id, { waitSeconds: 20 });
    for (const query of ['include=promise', 'include=promise&wait_seconds=0.1']) {
      const { json } = await rig.request(`/v1/jobs?${query}`, submission);
      expect([json.job_id, json.promise.payloadType]).toEqual([job_id, 'application/vnd.in-toto+json']);
      expect(json).not.toHaveProperty('result');
    }
    await rig.alpha.client.cancel(job_id);
    await rig.ended(job_id);
  });

  test('has no promise if the job has none', { tags: ['Submit-9c'] }, async () => {
    const { json } = await asked('wait_seconds=60&include=promise', python);
    expect(json.result.stdout).toBe('hi\n');
    expect(json).not.toHaveProperty('promise');
  });
});

test('a promise about a program with an interactor is shown to be kept', { tags: ['Promise-3'] }, async () => {
  const { client } = rig.alpha;
  const talking = {
    language: 'bash',
    code: 'echo a; read -r b',
    interactor: { language: 'bash', code: 'echo b' },
  } as const;
  const { promise, job_id } = await client.submit(talking, { promise: 'required' });
  await client.waitForResult(job_id);
  const proof = file(await proofOf(job_id));
  const words = ['promise', file(promise?.bytes ?? ''), ...(await pinned()), '--log-proof', proof, '--require', 'kept'];
  const envelope = file((await client.attestation(job_id)).bytes);
  expect(await serviceVerify([...words, '--envelope', envelope])).toMatchObject({ exitCode: 0 });
});

test('a run that does not ask for a promise gets none', async () => {
  const { client } = rig.alpha;
  const { promise, job_id } = await client.run(python);
  expect(promise).toBeNull();
  await expect(client.promise(job_id)).rejects.toMatchObject({ code: 'not_promised', status: 404 });
  await expect(client.pending(job_id)).rejects.toMatchObject({ code: 'not_promised' });
});

test('another tenant can read neither a job’s promise nor the log’s statements that the job is still pending', async () => {
  const { promise, job_id } = await rig.alpha.client.submit(python, { promise: 'required' });
  expect(promise).not.toBeNull();
  const { client } = rig.beta;
  await expect(client.promise(job_id)).rejects.toMatchObject({ code: 'job_not_found' });
  await expect(client.pending(job_id)).rejects.toMatchObject({ code: 'job_not_found' });
});

test('a submission without a promise is refused if its idempotency key belongs to a submission with a promise', async () => {
  const { client } = rig.alpha;
  const first = await client.submit(python, { idempotencyKey: 'promised', promise: 'required' });
  const again = await client.submit(python, { idempotencyKey: 'promised', promise: 'required' });
  expect([again.job_id, again.replayed]).toEqual([first.job_id, true]);
  expect(again.promise?.bytes).toEqual(first.promise?.bytes);
  const without = client.submit(python, { idempotencyKey: 'promised' });
  await expect(without).rejects.toMatchObject({ code: 'idempotency_key_reused' });
});

test('the log states that a job is still pending if the job will not end by the promised time', {
  tags: ['Promise-4', 'Promise-5'],
}, async () => {
  const { client } = rig.alpha;
  const { promise, job_id } = await client.submit(sleeper, { promise: 'required' });
  const pending = async () => (await client.pending(job_id)).items;
  await expect
    .poll(async () => (await pending()).some(({ log_proof }) => log_proof !== null), { timeout: 30_000 })
    .toBe(true);
  const [first] = await pending();
  expect((first?.stated_at ?? '') < (promise?.answer_by ?? '')).toBe(true);
  expect((first?.answer_by ?? '') > (promise?.answer_by ?? '')).toBe(true);
  const words = ['promise', file(promise?.bytes ?? ''), ...(await pinned())];
  const told = await serviceVerify([...words, '--pending', file(JSON.stringify(await client.pending(job_id)))]);
  expect(told).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('PENDING') as string });
  expect((await client.detail(job_id)).status).toBe('running');
  await client.cancel(job_id);
  await rig.ended(job_id);
  const kept = ['--envelope', file((await signed(job_id)).bytes), '--log-proof', file(await proofOf(job_id))];
  const pendingFile = file(JSON.stringify(await client.pending(job_id)));
  expect(await serviceVerify([...words, ...kept, '--pending', pendingFile, '--require', 'kept'])).toMatchObject({
    exitCode: 0,
  });
});

async function signed(job_id: string) {
  await proofOf(job_id);
  return await rig.alpha.client.attestation(job_id);
}

describe('vouchbox run and vouchbox export', () => {
  const access = () => ['--url', rig.service.url, '--key', rig.alpha.key];

  test('store the promise in the file that --promise-file or --promise names', async () => {
    const [promise, beside] = [join(scratch, 'kept.promise'), join(scratch, 'exported.promise')];
    const program = join(scratch, 'program.py');
    writeFileSync(program, python.code);
    const ran = await vouchbox(['run', program, '--promise-file', promise, '--verbose', ...access()]);
    expect(ran).toMatchObject({ code: 0, stdout: 'hi\n' });
    const job_id = /job_\S+/.exec(ran.stderr)?.[0] ?? '';
    await proofOf(job_id);
    const exported = await vouchbox([
      'export',
      job_id,
      '--output',
      join(scratch, 'out'),
      '--promise',
      beside,
      ...access(),
    ]);
    expect(exported).toMatchObject({ code: 0 });
    expect(readFileSync(beside)).toEqual(readFileSync(promise));
    const again = await vouchbox(['run', program, '--promise-file', promise, ...access()]);
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('exists already') as string });
  });

  test('refuse --promise together with --with-inputs', async () => {
    const words = ['export', 'job_x', '--with-inputs', '--promise', join(scratch, 'graph'), ...access()];
    expect(await vouchbox(words)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('belongs to one job') as string,
    });
  });
});

describe('a service without a log', () => {
  let plain: Rig;
  beforeAll(async () => {
    plain = await Rig.start(SIGNED);
  });
  afterAll(async () => {
    expect(await plain.stop()).toEqual([]);
  });

  test('refuses a submission that asks for a promise, and gets no job from a client that requires a promise', {
    tags: ['Promise-1'],
  }, async () => {
    const { client } = plain.alpha;
    await expect(client.submit({ ...python, promise: true })).rejects.toMatchObject({
      code: 'promise_not_offered',
      status: 422,
      message: expect.stringMatching(/^\/promise /) as string,
    });
    await expect(client.run(python, { promise: 'required' })).rejects.toBeInstanceOf(EvidenceFailure);
    const told = [{ text: expect.stringContaining('promise') as string }];
    expect(await runCode(plain, { promise: true })).toMatchObject({ isError: true, content: told });
    expect((await client.list()).items).toEqual([]);
    expect((await client.run(python, { promise: true })).promise).toBeNull();
  });
});

test('a service with log-promises: all gives a promise to every job, including the jobs of gradings', {
  tags: ['Promise-1'],
}, async () => {
  const all = await Rig.start({ ...LOGGED, 'log-promises': 'all' });
  const { client } = all.alpha;
  const { job_id } = await client.run(python);
  expect((await client.promise(job_id, { waitSeconds: 20 })).mediaType).toBe('application/vnd.dsse.envelope.v1+json');
  const { verdict } = await client.grade('print(input())', { tests: [{ name: 'one', stdin: '1\n', expected: '1' }] });
  expect(verdict.accepted).toBe(true);
  for (const { job_id: each } of (await client.list()).items)
    expect((await client.promise(each, { waitSeconds: 20 })).bytes.length).toBeGreaterThan(0);
  expect(await all.stop()).toEqual([]);
});

test('a service with log-promises: all but without a log does not start', async () => {
  await expect(Rig.start({ ...SIGNED, 'log-promises': 'all' })).rejects.toThrow('no log is kept');
});
