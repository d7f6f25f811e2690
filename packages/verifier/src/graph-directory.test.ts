import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  EXPORT_FILES,
  EXPORT_MANIFEST,
  EXPORT_OPTIONAL_FILES,
  exportManifest,
  GRAPH_FILE,
  graphFile,
} from '@vouchbox/evidence';
import type { OutputName } from '@vouchbox/protocol';
import { afterAll, describe, expect, test } from 'vitest';
import { type AttestedJob, attestedJob, exportOf, type JobOptions, Scratch, signingKey } from '../test/attested-job.ts';
import { drawGraph } from './draw-graph.ts';
import type { ExportFiles } from './exported-job.ts';
import { serviceVerify } from './service-verify.ts';
import { type GraphBounds, verifyGraph } from './verify-graph.ts';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const seed = Number(process.env['PROPERTY_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
let state = seed;
/** A whole number below the bound, the same for the same seed. */
function below(bound: number): number {
  state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
  return Math.floor((state / 2 ** 31) * bound);
}

const idOf = (number: number) => `job_${String(number).padStart(4, '0')}`;
const contentOf = (number: number) => `made by ${number}`;
const key = scratch.write('key.pem', attestedJob().key.publicKeyPem);
let made = 0;

/** A job whose inputs are the files `output/made` of these other jobs. */
function jobOn(number: number, others: readonly number[], options: JobOptions = {}): AttestedJob {
  const paths = others.map((other) => `input/${other}`);
  return attestedJob({
    job_id: idOf(number),
    inputs: Object.fromEntries(others.map((other, index) => [paths[index], contentOf(other)])),
    from: Object.fromEntries(
      others.map((other, index): [string, OutputName] => [
        paths[index] ?? '',
        { job_id: idOf(other), path: 'output/made' },
      ]),
    ),
    outputs: { 'output/made': contentOf(number) },
    ...options,
  });
}

interface Written {
  readonly root?: number;
  readonly missing?: readonly string[];
}

function graph(jobs: readonly AttestedJob[], { root = 0, missing = [] }: Written = {}): string {
  const files = new Map<string, Uint8Array>([[GRAPH_FILE, graphFile({ tenant: 'acme', job_id: idOf(root), missing })]]);
  for (const job of jobs) for (const [path, content] of exportOf(job)) files.set(`${job.job_id}/${path}`, content);
  return scratch.writeAll(`graph-${++made}`, files);
}

async function verify(directory: string, ...more: readonly string[]) {
  const words = ['graph', directory, '--public-key', key, '--tenant', 'acme', ...more];
  const { exitCode, stdout, stderr } = await serviceVerify(words);
  return {
    exitCode,
    stderr,
    lines: stdout.split('\n'),
    bad: stdout.split('\n').filter((line) => line.startsWith('FAILED')),
  };
}

describe('service-verify graph', { tags: ['Inputs-7'] }, () => {
  test('checks every job and every edge, and prints the graph', async () => {
    const directory = graph([jobOn(0, [1, 2]), jobOn(1, [2]), jobOn(2, [])]);
    const { exitCode, lines, bad, stderr } = await verify(directory);
    expect([exitCode, bad, stderr]).toEqual([0, [], '']);
    expect(lines.filter((line) => line.includes('output/made of job_0002, sha256:'))).toHaveLength(2);
    expect(lines.slice(-5, -1)).toEqual([
      'job_0000  succeeded',
      '├─ input/1 ← output/made of job_0001  succeeded',
      '│  └─ input/2 ← output/made of job_0002  succeeded',
      '└─ input/2 ← output/made of job_0002  succeeded',
    ]);
    const { stdout } = await serviceVerify(['graph', directory, '--public-key', key, '--tenant', 'acme', '--json']);
    const { jobs } = JSON.parse(stdout) as { jobs: { job_id: string; state: string; inputs: unknown[] }[] };
    expect(jobs.map(({ job_id, state: found, inputs }) => [job_id, found, inputs.length])).toEqual([
      ['job_0000', 'good', 2],
      ['job_0001', 'good', 1],
      ['job_0002', 'good', 0],
    ]);
  });

  test('reports a missing job, whether the export lists it as missing or not', async () => {
    for (const missing of [[], ['job_0001']]) {
      const { exitCode, lines, bad } = await verify(graph([jobOn(0, [1])], { missing }));
      expect([exitCode, bad.length]).toEqual([5, 1]);
      expect(bad[0]).toContain('job_0001');
      expect(bad[0]).toContain('MISSING');
      expect(lines).toContain('└─ input/1 ← output/made of job_0001  MISSING');
    }
  });

  test('names an edge whose two ends have different bytes', async () => {
    const swapped = jobOn(1, [], { outputs: { 'output/made': 'of another' } });
    const other = jobOn(2, [], { outputs: { 'output/other': contentOf(2) } });
    const { exitCode, bad, lines } = await verify(graph([jobOn(0, [1, 2]), swapped, other]));
    expect(exitCode).toBe(6);
    expect(bad.map((line) => /job_0000 input\/\d/.exec(line)?.[0])).toEqual(['job_0000 input/1', 'job_0000 input/2']);
    expect(bad[1]).toContain('job_0002 returned no output/made');
    expect(lines).toContain('├─ input/1 ✗ output/made of job_0001  succeeded');
  });

  test('calls a job unbound if its receipt does not state its inputs and outputs', async () => {
    const unknown = { policy_sha256: undefined, input_artifacts: undefined, output_artifacts: undefined };
    const job = attestedJob({ job_id: idOf(0), receipt: { ...unknown, code_sha256: undefined } });
    const files = new Map(job.files);
    for (const path of ['code', EXPORT_OPTIONAL_FILES.policy]) files.delete(path);
    const { exitCode, bad } = await verify(graph([{ ...job, files }]));
    expect([exitCode, bad[0]]).toEqual([5, expect.stringContaining('UNBOUND')]);
  });

  test('refuses a job without its policy, a job that no other job uses, and a job with another key or id', async () => {
    const job = jobOn(0, [1]);
    const files = new Map(job.files);
    files.delete(EXPORT_OPTIONAL_FILES.policy);
    const stripped = await verify(graph([{ ...job, files }, jobOn(1, [])]));
    expect([stripped.exitCode, stripped.bad[0]]).toEqual([6, expect.stringContaining('policy.json is missing')]);
    const surplus = await verify(graph([jobOn(0, []), jobOn(1, [])]));
    expect([surplus.exitCode, surplus.bad[0]]).toEqual([6, expect.stringContaining('job_0001')]);
    const foreign = await verify(graph([jobOn(0, [1]), jobOn(1, [], { key: signingKey() })]));
    expect([foreign.exitCode, foreign.bad[0]]).toEqual([2, expect.stringContaining('job_0001')]);
    const renamed = await verify(graph([jobOn(0, [1]), { ...jobOn(2, []), job_id: idOf(1) }]));
    expect([renamed.exitCode, renamed.bad[0]]).toEqual([4, expect.stringContaining('job_0001')]);
  });

  test('finds a cycle and still ends', async () => {
    const { exitCode, bad } = await verify(graph([jobOn(0, [1]), jobOn(1, [2]), jobOn(2, [1])]));
    expect([exitCode, bad.at(-1)]).toEqual([6, expect.stringContaining('it depends on itself')]);
  });

  test('refuses another tenant, another job, a directory without a list, and files that no graph has', async () => {
    const directory = graph([jobOn(0, [])]);
    expect((await verify(directory, '--job', idOf(0))).exitCode).toBe(0);
    expect((await verify(directory, '--job', idOf(1))).exitCode).toBe(4);
    const words = ['graph', directory, '--public-key', key, '--tenant', 'other'];
    expect((await serviceVerify(words)).exitCode).toBe(4);
    symlinkSync('/etc', join(directory, 'link'));
    expect((await verify(directory)).exitCode).toBe(7);
    rmSync(join(directory, 'link'));
    writeFileSync(join(directory, idOf(0), 'more'), '');
    expect((await verify(directory)).exitCode).toBe(7);
    rmSync(join(directory, GRAPH_FILE));
    expect((await verify(directory)).exitCode).toBe(7);
    expect((await verify(join(directory, 'none'))).exitCode).toBe(1);
  });

  test('accepts the maximum depth and size, and no more', async () => {
    const chain = Array.from({ length: 40 }, (_, at) => jobOn(at, at === 39 ? [] : [at + 1]));
    const jobs = new Map(chain.map((job) => [job.job_id, new Map(exportOf(job))]));
    const list = graphFile({ tenant: 'acme', job_id: idOf(0), missing: [] });
    const read = (id: string) => jobs.get(id) as ExportFiles;
    const known = { publicKeys: [chain[0]?.key.publicKeyPem ?? ''], tenant: 'acme' };
    const within = async (bounds: GraphBounds) =>
      await verifyGraph({ list, jobs: [...jobs.keys()], read }, known, bounds);
    const report = await within({ jobsMax: 40, depthMax: 39 });
    expect(report.exitCode).toBe(0);
    const drawing = drawGraph(report);
    expect([drawing.length, drawing.at(-1)?.endsWith('…')]).toEqual([25, true]);
    const deeper = await within({ jobsMax: 40, depthMax: 38 });
    expect([deeper.exitCode, deeper.checks[0]?.detail]).toEqual([6, 'it is deeper than 38 jobs']);
    const larger = await within({ jobsMax: 39, depthMax: 39 });
    expect([larger.exitCode, larger.checks[0]?.detail]).toEqual([7, 'it has more than 39 jobs']);
  });
});

function isOfKeyid(content: Uint8Array, position: number): boolean {
  const text = Buffer.from(content).toString('latin1');
  return position >= text.indexOf('"keyid":"') && position < text.indexOf('","sig":"');
}

test(`service-verify graph finds the change in random graphs of 50 jobs (PROPERTY_SEED=${seed})`, {
  tags: ['Inputs-7'],
  timeout: 300_000,
}, async () => {
  for (let round = 0; round < 5; round++) {
    const links = Array.from({ length: 50 }, (_, at) => {
      const later = Array.from({ length: 49 - at }, (_, index) => at + 1 + index);
      const chosen = later.filter(() => below(12) === 0);
      return at < 49 && chosen.length === 0 ? [at + 1] : chosen;
    });
    const jobs = links.map((others, at) => jobOn(at, others));
    const reached = new Set([0]);
    for (const at of reached) for (const other of links[at] ?? []) reached.add(other);
    const whole = jobs.filter((_, at) => reached.has(at));
    expect((await verify(graph(whole))).exitCode).toBe(0);

    const victim = whole[1 + below(whole.length - 1)] as AttestedJob;
    const paths = [...exportOf(victim).keys()];
    const path = paths[below(paths.length)] as string;
    const content = Uint8Array.from(exportOf(victim).get(path) ?? []);
    const position = below(content.length);
    content[position] = (content[position] ?? 0) ^ 1;
    const files = new Map([...victim.files, [path, content]]);
    const others = whole.filter((job) => job !== victim);
    const changed = graph(others);
    // Whoever changes a file can also list it anew. A change of white space in the key, or of the envelope's `keyid`, does not
    // count: no verifier trusts them.
    const isListed = path === EXPORT_FILES.publicKey || isOfKeyid(content, position) || below(2) === 0;
    const relisted = path === EXPORT_MANIFEST ? content : exportManifest(victim, isListed ? victim.files : files);
    for (const [name, bytes] of [...files, [EXPORT_MANIFEST, relisted] as const])
      scratch.write(`graph-${made}/${victim.job_id}/${name}`, bytes);
    const found = await verify(changed);
    expect([path, found.exitCode === 0, found.bad.some((line) => line.includes(victim.job_id))]).toEqual([
      path,
      false,
      true,
    ]);

    const dropped = await verify(graph(others));
    expect(dropped.exitCode).toBe(5);
    expect(dropped.bad.some((line) => line.includes(victim.job_id) && line.includes('MISSING'))).toBe(true);

    const number = Number(victim.job_id.slice(4));
    const swapped = jobOn(number, links[number] ?? [], { outputs: { 'output/made': 'swapped' } });
    const exchanged = await verify(graph([...others, swapped]));
    expect(exchanged.exitCode).toBe(6);
    expect(exchanged.bad.every((line) => line.includes(`input/${number}`))).toBe(true);
  }
});
