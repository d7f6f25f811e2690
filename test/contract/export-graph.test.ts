/** `vouchbox export --with-inputs` exports graphs of jobs from a real service, and `service-verify graph` checks them. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { Rig } from '../rig/rig.ts';

const settings = { 'attestation-mode': 'on', provider: 'subprocess' };
let rig: Rig;
let scratch: string;
/** Four jobs: `left` and `right` each got an output from `seed`, and `last` got an output from both `left` and `right`. */
let jobs: { readonly seed: string; readonly left: string; readonly right: string; readonly last: string };

/** Runs a program that gets an output from each given job, under that job's name. */
async function run(code: string, given: Readonly<Record<string, string>> = {}): Promise<string> {
  const files = Object.entries(given).map(([name, job_id]) => ({
    path: `input/${name}`,
    from: { job_id, path: 'output/made' },
  }));
  return (await rig.run({ language: 'bash', code, files, outputs: ['output/made'] })).job_id;
}

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-graph-'));
  rig = await Rig.start(settings);
  const seed = await run('printf seed > output/made');
  const left = await run('cat input/seed > output/made; printf left >> output/made', { seed });
  const right = await run('cat input/seed > output/made; printf right >> output/made', { seed });
  jobs = { seed, left, right, last: await run('cat input/left input/right > output/made', { left, right }) };
  const words = ['attestation-keys', 'export', '--output', join(scratch, 'pinned.pem'), '--data-dir', rig.dataDir];
  expect((await vouchbox(words)).code).toBe(0);
});
afterAll(async () => {
  rmSync(scratch, { recursive: true });
  expect(await rig.stop()).toEqual([]);
});

const access = () => ['--url', rig.service.url, '--key', rig.alpha.key];
const exported = (...words: string[]) => vouchbox(['export', jobs.last, '--with-inputs', ...words], { cwd: scratch });
const at = (...parts: string[]) => join(scratch, ...parts);

async function verified(directory: string, pems: readonly string[] = ['pinned.pem']) {
  const keys = pems.flatMap((pem) => ['--public-key', at(pem)]);
  return await serviceVerify(['graph', at(directory), ...keys, '--tenant', 'alpha']);
}

const tags = ['Inputs-7'];

test('vouchbox export --with-inputs writes the jobs that the exported job needs, each once, and lists what this discloses', {
  tags,
}, async () => {
  const { code, stderr } = await exported(...access(), '--output', 'whole');
  expect(code).toBe(0);
  expect(stderr).toContain('it discloses 4 jobs');
  expect(stderr).toContain(`${jobs.left}: code, policy.json, input/seed, output/made`.replace('policy.json, ', ''));
  expect(stderr).toContain('npx --no service-verify graph whole --public-key PINNED.pem --tenant alpha');
  expect(readdirSync(at('whole')).toSorted()).toEqual([...Object.values(jobs), 'graph.json'].toSorted());
  expect(readFileSync(at('whole', jobs.last, 'input/left'), 'utf8')).toBe('seedleft');
  const { exitCode, stdout } = await verified('whole');
  expect(exitCode).toBe(0);
  expect(stdout.split('\n').slice(-6, -1)).toEqual([
    `${jobs.last}  succeeded`,
    `├─ input/left ← output/made of ${jobs.left}  succeeded`,
    `│  └─ input/seed ← output/made of ${jobs.seed}  succeeded`,
    `└─ input/right ← output/made of ${jobs.right}  succeeded`,
    `   └─ input/seed ← output/made of ${jobs.seed}  succeeded`,
  ]);
  const directory = ['directory', at('whole', jobs.left), '--public-key', at('pinned.pem'), '--tenant', 'alpha'];
  expect((await serviceVerify(directory)).exitCode).toBe(0);
});

test('a graph exported with --evidence-only has no programs and no files, but its edges are still verified', {
  tags,
}, async () => {
  const { code, stdout, stderr } = await exported(...access(), '--output', 'bare', '--evidence-only', '--json');
  expect([code, stderr]).toEqual([0, '']);
  const told = JSON.parse(stdout) as { jobs: { job_id: string; files: string[] }[]; gone: string[] };
  expect([told.jobs.length, told.gone]).toEqual([4, []]);
  for (const { files } of told.jobs) {
    expect(files).toContain('policy.json');
    for (const file of ['code', 'input/seed', 'output/made']) expect(files).not.toContain(file);
  }
  expect((await verified('bare')).exitCode).toBe(0);
});

test('service-verify names the job that has a changed byte, and reports a job as missing if its directory was removed', {
  tags,
}, async () => {
  await exported(...access(), '--output', 'changed');
  writeFileSync(at('changed', jobs.seed, 'output/made'), 'Seed');
  const changed = await verified('changed');
  expect([changed.exitCode, changed.stderr]).toEqual([6, expect.stringContaining(`refused at ${jobs.seed}`)]);
  rmSync(at('changed', jobs.seed), { recursive: true });
  const missing = await verified('changed');
  expect([missing.exitCode, missing.stdout]).toEqual([5, expect.stringContaining(`${jobs.seed}  MISSING`)]);
});

test("an export of a graph from a stopped service's data names a deleted job as missing, and each job's key is found", {
  tags,
}, async () => {
  const { stderr } = await exported('--data-dir', rig.dataDir, '--tenant', 'alpha', '--output', 'early');
  expect(stderr).toContain('give --url and --key');
  expect((await vouchbox(['attestation-keys', 'rotate', '--data-dir', rig.dataDir])).code).toBe(0);
  const newer = await run('cat input/last > output/made', { last: jobs.last });
  const rotated = await vouchbox(
    ['export', newer, '--with-inputs', ...access(), '--output', 'rotated', '--public-key', at('pinned.pem')],
    { cwd: scratch },
  );
  expect([rotated.code, rotated.stderr]).toEqual([0, expect.stringContaining('it discloses 5 jobs')]);
  expect(await rig.stop('kept')).toEqual([]);
  const database = new DatabaseSync(join(rig.dataDir, 'svc.db'));
  database.exec('pragma foreign_keys = on');
  database.prepare('delete from jobs where job_id = ?').run(jobs.right);
  database.close();
  const gone = await exported('--data-dir', rig.dataDir, '--tenant', 'alpha', '--output', 'data');
  expect([gone.code, gone.stderr]).toEqual([0, expect.stringContaining(`${jobs.right} is missing`)]);
  const { exitCode, stdout } = await verified('data');
  expect([exitCode, stdout]).toEqual([5, expect.stringContaining(`MISSING: the service no longer had it`)]);
  rig = await Rig.start(settings, rig.dataDir);
  const served = await exported(...access(), '--output', 'served', '--public-key', at('pinned.pem'));
  expect([served.code, served.stderr]).toEqual([0, expect.stringContaining(`${jobs.right} is missing`)]);
  expect((await verified('served')).exitCode).toBe(5);
});
