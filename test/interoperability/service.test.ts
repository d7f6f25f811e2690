/** An auditor that shares no code with the service, and `service-verify`, check a running service's evidence. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson, EXPORT_FILES, EXPORT_MANIFEST, exportManifest, sha256Hex } from '@vouchbox/evidence';
import type { JobSubmission } from '@vouchbox/protocol';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { eventLines, Scratch } from '../../packages/verifier/test/attested-job.ts';
import { type Ran, useRig } from '../rig/rig.ts';
import { run } from './run.ts';

const auditor = join(import.meta.dirname, 'auditor.py');
const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

/** Jobs with every kind of ending that leaves different evidence. */
const submissions: Readonly<Record<string, JobSubmission>> = {
  plain: { language: 'python', code: 'print("hello")' },
  silent: { language: 'bash', code: 'true' },
  failing: { language: 'bash', code: 'echo oops >&2; exit 3' },
  signaled: { language: 'bash', code: 'kill -TERM $$; sleep 5' },
  text: {
    language: 'python',
    code: 'import sys; sys.stdout.buffer.write("é\\u2028\\0\\x7f\\U0001f600\\r\\nend".encode() + b"\\xff")',
  },
  timed_out: { language: 'bash', code: 'echo start; sleep 60', limits: { wall_seconds: 0.5 } },
  long: { language: 'python', code: 'for n in range(12_000): print(n)' },
  truncated: { language: 'python', code: 'print("x" * 3_000_000)' },
  files: {
    language: 'python',
    code: 'open("output/a.txt", "w").write(open("input/a.txt").read() * 2)',
    stdin: 'unread',
    files: [{ path: 'input/a.txt', content_base64: btoa('abc') }],
    outputs: ['output/a.txt', 'output/missing'],
    limits: { cpu_seconds: 1.25, mem_mb: 128 },
  },
};

/** A job and its evidence, with each file as it was served. */
interface Evidence extends Ran {
  readonly pages: readonly string[];
  readonly detailFile: string;
  readonly envelope: string;
  readonly result_artifact: string;
}

const rig = useRig({ 'attestation-mode': 'on' });
const evidence = new Map<string, Evidence>();
let keyFile = '';

beforeAll(async () => {
  const { client } = rig().alpha;
  keyFile = scratch.write('pinned.pem', (await client.publicKey()).public_key_pem);
  for (const [name, submission] of Object.entries(submissions)) {
    evidence.set(name, await fetched(name, await rig().run(submission)));
  }
  const { job_id } = await client.submit({ language: 'bash', code: 'sleep 60' });
  await client.cancel(job_id);
  evidence.set('cancelled', await fetched('cancelled', await rig().ended(job_id)));
}, 120_000);

/** Saves the service's evidence about an ended job, once the job is signed. */
async function fetched(name: string, ran: Ran): Promise<Evidence> {
  const { job_id } = ran;
  const { client } = rig().alpha;
  await vi.waitFor(async () => expect((await client.detail(job_id)).attestation.available).toBe(true), 30_000);
  const pages: string[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const { text, json } = await rig().request(`/v1/jobs/${job_id}/replay?limit=1000&after=${after}`);
    pages.push(scratch.write(`${name}-${pages.length}.json`, text));
    after = (json as { next_cursor: number | null }).next_cursor;
  }
  return {
    ...ran,
    pages,
    detailFile: scratch.write(`${name}-detail.json`, (await rig().request(`/v1/jobs/${job_id}`)).text),
    envelope: scratch.write(`${name}-envelope`, (await client.attestation(job_id)).bytes),
    result_artifact: scratch.write(`${name}-result`, (await client.resultArtifact(job_id)).bytes),
  };
}

function evidenceOf(name: string): Evidence {
  const found = evidence.get(name);
  if (found === undefined) throw new Error(`there is no evidence of ${name}`);
  return found;
}

function trust({ envelope, result_artifact }: Evidence): string[] {
  return ['--envelope', envelope, '--subject', result_artifact, '--public-key', keyFile, '--tenant', 'alpha'];
}

const names = [...Object.keys(submissions), 'cancelled'];

describe('the evidence that the service serves', () => {
  test('passes every check of an independent auditor: chain, receipt, result, statement and signature', {
    tags: ['Artifact-8', 'Artifact-9'],
  }, async () => {
    const jobs = Array.from(evidence.values());
    const { service, alpha } = rig();
    const saved = join(scratch.path, 'fetched');
    const ids = jobs.map(({ job_id }) => job_id);
    const fetcher = [join(import.meta.dirname, 'fetch_job.py'), '--url', service.url, '--token', alpha.key];
    expect(await run('python3', [...fetcher, saved, ...ids])).toMatchObject({ exitCode: 0, stderr: '' });
    const directories = ids.map((job_id) => join(saved, job_id));
    const words = ['--public-key', keyFile, '--tenant', alpha.name, ...directories];
    const { stdout, stderr } = await run('python3', [auditor, ...words]);
    const verdicts = jobs.map(({ job_id, events }) => `${join(saved, job_id)} good ${events.length}\n`);
    expect({ stdout, stderr }).toEqual({ stdout: verdicts.join(''), stderr: '' });
  });

  test('has signatures that python3-cryptography accepts', async () => {
    const script = join(import.meta.dirname, 'verify_with_cryptography.py');
    const envelopes = Array.from(evidence.values(), ({ envelope }) => envelope);
    const { stdout } = await run('/usr/bin/python3', [script, keyFile, ...envelopes]);
    expect(stdout).toBe('good\n'.repeat(envelopes.length));
  });

  test.each(names)('service-verify verifies the job "%s" and prints its status', async (name) => {
    const job = evidenceOf(name);
    const words = [...trust(job), '--subject-name', `svc://jobs/${job.job_id}/result`, '--json'];
    const { exitCode, stdout } = await serviceVerify(['verify', ...words]);
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(stdout)).toMatchObject({ facts: { status: job.result.status, exit_code: job.result.exit_code } });
  });

  test.each(names)('service-verify recomputes the history of the job "%s"', async (name) => {
    const { pages, detailFile } = evidenceOf(name);
    const { exitCode, stdout } = await serviceVerify(['chain', ...pages, '--receipt', detailFile]);
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0 });
  });

  test('about a long job is refused if the last page of the job’s history is missing', async () => {
    const { pages, detailFile } = evidenceOf('long');
    expect(pages.length).toBeGreaterThan(2);
    expect(await serviceVerify(['chain', ...pages.slice(0, -1), '--receipt', detailFile])).toMatchObject({
      exitCode: 6,
      stdout: expect.stringContaining('it is missing'),
    });
  });

  test('about one job is refused as evidence about another job', async () => {
    const [one, other] = [evidenceOf('plain'), evidenceOf('silent')];
    const name = ['--subject-name', `svc://jobs/${one.job_id}/result`];
    expect(await serviceVerify(['verify', ...trust(other), ...name])).toMatchObject({ exitCode: 4 });
    const mixed = trust({ ...one, result_artifact: other.result_artifact });
    expect(await serviceVerify(['verify', ...mixed, ...name])).toMatchObject({ exitCode: 3 });
  });

  test('passes a policy that states what was observed, but fails a stricter policy', async () => {
    const job = evidenceOf('files');
    const held = [
      ...['status=succeeded', 'exit_code=0', 'isolation>=linux-shared-kernel', 'networking=disabled', 'seccomp=filter'],
      ...['mem_mb<=128', 'cpu_seconds<=1.25', 'chain_complete=true', 'truncated=false', 'language=python'],
    ];
    const policy = ['--code-sha256', sha256Hex(submissions['files']?.code ?? ''), '--max-age', '1h'];
    const required = (requirements: readonly string[]) => requirements.flatMap((text) => ['--require', text]);
    const good = await serviceVerify(['policy', ...trust(job), ...required(held), ...policy]);
    expect(good).toMatchObject({ exitCode: 0, stderr: '' });
    const bad = await serviceVerify(['policy', ...trust(job), ...required(['isolation>=hardware-vm', 'mem_mb<=127'])]);
    expect(bad.stdout.match(/^FAILED \S+/gm)).toEqual(['FAILED isolation>=hardware-vm', 'FAILED mem_mb<=127']);
    expect(bad.exitCode).toBe(5);
  });

  test.each(names)('about the job "%s" can be put together as an export that service-verify accepts', async (name) => {
    const job = evidenceOf(name);
    const files = new Map<string, Uint8Array>([
      [EXPORT_FILES.envelope, readFileSync(job.envelope)],
      [EXPORT_FILES.result, readFileSync(job.result_artifact)],
      [EXPORT_FILES.receipt, Buffer.from(canonicalJson(job.detail.receipt))],
      [EXPORT_FILES.events, Buffer.from(eventLines(job.events))],
      [EXPORT_FILES.publicKey, readFileSync(keyFile)],
      ['code', Buffer.from(job.detail.requested_spec.code ?? '')],
      ...job.result.artifacts.map(({ path, content_base64 }) => [path, Buffer.from(content_base64, 'base64')] as const),
    ]);
    const manifest = exportManifest({ tenant: 'alpha', job_id: job.job_id }, files);
    const directory = scratch.writeAll(`${name}-export`, new Map([...files, [EXPORT_MANIFEST, manifest]]));
    const words = ['directory', directory, '--public-key', keyFile, '--tenant', 'alpha', '--job', job.job_id];
    expect(await serviceVerify(words)).toMatchObject({ exitCode: 0, stderr: '' });
  });
});
